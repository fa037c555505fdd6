package main

import (
	"encoding/json"
	"log/slog"
	"math"
	"strings"
	"testing"

	"footfall/configs"
)

// A consumer says if its caches do not fit, and what would. In 512 MB the defaults fit.
func TestMemoryThatIsTooSmall(t *testing.T) {
	defaults, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	warned := func(cfg configs.Consumer, limit int64) string {
		var log strings.Builder
		warnOfMemory(cfg, limit, slog.New(slog.NewJSONHandler(&log, nil)))
		return log.String()
	}
	const mb = 1_000_000
	for _, limit := range []int64{math.MaxInt64, 512 << 20 / 10 * 9, 512 * mb / 10 * 9, 400 * mb} {
		if text := warned(defaults, limit); text != "" {
			t.Errorf("with a limit of %d: %s", limit, text)
		}
	}
	for _, limit := range []int64{256 * mb, 200 * mb, 300 * mb} {
		text := warned(defaults, limit)
		var said struct {
			Level    string
			Visitors int `json:"visitors.lru"`
			Ledger   int `json:"ledger.cache"`
			Chunk    int `json:"chunk.max_bytes"`
		}
		if err := json.Unmarshal([]byte(text), &said); err != nil || said.Level != "WARN" {
			t.Fatalf("with a limit of %d: %q, %v", limit, text, err)
		}
		better := defaults
		better.Visitors.LRU, better.Ledger.Cache, better.Chunk.MaxBytes = said.Visitors, said.Ledger, said.Chunk
		if text := warned(better, limit); text != "" {
			t.Errorf("with a limit of %d what was said does not help: %s", limit, text)
		}
		if said.Visitors < defaults.Visitors.LRU/10 || said.Visitors >= defaults.Visitors.LRU || said.Chunk >= defaults.Chunk.MaxBytes {
			t.Errorf("with a limit of %d: %s", limit, text)
		}
	}
	if text := warned(defaults, 100*mb); !strings.Contains(text, "too small for a consumer") || strings.Contains(text, "visitors.lru") {
		t.Errorf("in 100 MB: %q", text)
	}
}
