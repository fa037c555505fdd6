package main

import (
	"fmt"
	"log/slog"
	"math"

	"footfall/configs"
	"footfall/internal/memlimit"
)

// What a consumer keeps in memory, in bytes, as measured (docs/capacity.md). Caches and chunks take it when they are full.
const (
	perVisitor  = 50 + 128 // of visitors.lru: one of a link and one of a site
	perPosition = 74       // of ledger.cache
	perID       = 40       // of duplicates.window, in each partition
	atRest      = 32 << 20 // the program, Kafka's and Cassandra's clients
	partitions  = 12       // six of each topic, as the producer creates them
)

// kept is about the memory that a consumer with full caches and chunks has in use. What varies is what settings bound.
func kept(cfg configs.Consumer) (fixed, varies int) {
	fixed = atRest + perID*cfg.Duplicates.Window*partitions
	return fixed, perVisitor*cfg.Visitors.LRU + perPosition*cfg.Ledger.Cache + 2*cfg.Chunk.MaxBytes
}

// withGarbage is what a process needs that keeps so much. With less than a quarter for garbage, the collector would run most of the time.
func withGarbage(kept int) int { return kept / 4 * 5 }

// warnOfMemory warns if what is configured cannot fit the memory limit, and says what would.
func warnOfMemory(cfg configs.Consumer, limit int64, log *slog.Logger) {
	fixed, varies := kept(cfg)
	if limit == math.MaxInt64 || int64(withGarbage(fixed+varies)) <= limit {
		return
	}
	mb := func(bytes int) string { return fmt.Sprintf("%d MB", (bytes+999_999)/1_000_000) }
	needs := mb(withGarbage(fixed + varies))
	share := (float64(limit)/float64(withGarbage(1000))*1000 - float64(fixed)) / float64(varies)
	if share < 0.1 {
		log.Warn("the memory limit is too small for a consumer: it will be slow, and may be ended by the kernel; raise the container's limit or GOMEMLIMIT",
			"limit", mb(int(limit)), "needs", needs)
		return
	}
	log.Warn("caches and chunks do not fit the memory limit once they are full: counting will be slow; raise the container's limit (or GOMEMLIMIT),"+
		" or set these", "limit", mb(int(limit)), "needs", needs,
		"visitors.lru", int(share*float64(cfg.Visitors.LRU)), "ledger.cache", max(int(share*float64(cfg.Ledger.Cache)), 1),
		"chunk.max_bytes", int(share*float64(cfg.Chunk.MaxBytes)))
}

// noteMemory tells how much memory the process may use, if there is a limit.
func noteMemory(cfg configs.Consumer, log *slog.Logger) {
	limit := memlimit.Now()
	if limit < math.MaxInt64 {
		log.Info("memory is limited", "GOMEMLIMIT", limit)
	}
	warnOfMemory(cfg, limit, log)
}
