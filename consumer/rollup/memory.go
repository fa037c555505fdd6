package rollup

import (
	"math"

	"footfall/configs"
	"footfall/models"
)

// What a consumer keeps in memory, in bytes, as measured (docs/capacity.md). Caches and chunks take it when they are full.
const (
	perVisitor  = 50 + 128 // of visitors.lru: one of a link and one of a site
	perPosition = 74 + 8   // of ledger.cache, names included
	perID       = 40       // of duplicates.window, in each partition
	atRest      = 32 << 20 // the program, Kafka's and Cassandra's clients
	// lookupBytes is for rows of visitors and of ledgers that are being read, and for requests under way.
	lookupBytes = 32 << 20
	// These are for what fetchers have read and no chunk has taken yet, and for repairs. If a sixteenth of the limit is less, they have that.
	fetchedBytes = 16 << 20
	repairBytes  = 32 << 20
)

// shares say how a consumer divides its memory, so that all together never need more than there is.
type shares struct {
	windows          int     // for how many partitions there is room: each has a window of ids
	part             float64 // how much of visitors.lru, ledger.cache and chunk.max_bytes there is room for; at most 1
	fetched, repairs int
}

// leastPart is the part of caches and chunks that partitions leave to them: with less all of them would be counted slowly.
const leastPart = 0.1

// divide divides a memory limit. Windows come first, since a partition is not counted without its own; caches and chunks share the rest. A fifth is
// left for garbage, or the collector would run most of the time. At least so many partitions as least are counted, whatever the limit.
func divide(cfg configs.Consumer, limit int64, partitions, least int) shares {
	s := shares{windows: partitions, part: 1, fetched: int(min(fetchedBytes, limit/16)), repairs: int(min(repairBytes, limit/16))}
	if limit == math.MaxInt64 {
		return s
	}
	left := float64(limit)*4/5 - atRest - lookupBytes - float64(s.fetched+s.repairs)
	window := float64(max(perID*cfg.Duplicates.Window, 1))
	varies := float64(perVisitor*cfg.Visitors.LRU + perPosition*cfg.Ledger.Cache + 2*cfg.Chunk.MaxBytes)
	s.windows = min(max(int((left-leastPart*varies)/window), least), partitions)
	s.part = min(max((left-float64(s.windows)*window)/varies, leastPart/2), 1)
	return s
}

// of is that part of a configured size.
func (s shares) of(size int) int { return int(s.part * float64(size)) }

// share divides the memory between so many partitions, and returns those that there is room for. The others wait until another consumer takes
// them: with them the process would be ended by the kernel, come back, and be ended again. A consumer that is Alone counts all.
func (c *Consumer) share(partitions []models.Partition) []models.Partition {
	least := 1
	if c.Alone {
		least = len(partitions)
	}
	s := divide(c.Config, c.Memory, len(partitions), least)
	rest := len(partitions) - s.windows
	if rest > 0 {
		c.Logger.Error("there is no memory for the windows of all partitions, so some are not counted: start more consumers, or raise the"+
			" container's limit or GOMEMLIMIT", "limit", c.Memory, "counted", s.windows, "not_counted", rest)
	}
	if s.part != c.shares.part {
		if s.part < 1 {
			c.Logger.Warn("caches and chunks are smaller than configured, to fit the memory limit: counting may be slower; raise the container's limit or"+
				" GOMEMLIMIT", "limit", c.Memory, "visitors.lru", s.of(c.Config.Visitors.LRU), "ledger.cache", s.of(c.Config.Ledger.Cache),
				"chunk.max_bytes", s.of(c.Config.Chunk.MaxBytes))
		}
		c.visitors.Resize(s.of(c.Config.Visitors.LRU))
		c.ledger.resize(s.of(c.Config.Ledger.Cache))
	}
	c.shares = s
	return partitions[:s.windows]
}

// noteMemory tells operators what the goroutine that collects chunks knows to be held.
func (o *ownership) noteMemory(chunks int) {
	windows := 0
	for _, p := range o.partitions {
		windows += perID * p.window.Length()
	}
	o.metrics.Holds("windows", windows)
	o.metrics.Holds("fetched", o.fetched.Held())
	o.metrics.Holds("chunks", chunks)
	o.metrics.Holds("visitors", o.visitors.Bytes())
}
