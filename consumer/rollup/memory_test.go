package rollup

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// What a consumer divides its limit into fits the limit, whatever it was assigned; in 512 MiB the defaults fit as they are.
func TestMemoryIsDivided(t *testing.T) {
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	const container = 512 << 20
	for _, c := range []struct {
		limit      int64
		partitions int
		windows    int     // at least
		part       float64 // at least
	}{
		{math.MaxInt64, 1000, 1000, 1},
		{container / 10 * 9, 12, 12, 1},
		{container / 10 * 9, 40, 40, 0.5},
		{container / 10 * 9, 200, 50, leastPart},
		{container / 10 * 9, 1000, 50, leastPart},
		{2 << 30, 200, 200, 1},
		{300 << 20, 12, 12, 0.4},
		{256 << 20 / 10 * 9, 12, 12, leastPart}, // a small container
		{100 << 20, 12, 1, 0},
	} {
		s := divide(cfg, c.limit, c.partitions, 1)
		if s.windows < c.windows || s.windows > c.partitions || s.part < c.part || s.part > 1 {
			t.Errorf("%d partitions in %d: %+v, want at least %d and %v", c.partitions, c.limit, s, c.windows, c.part)
		}
		needs := atRest + lookupBytes + s.fetched + s.repairs + s.windows*perID*cfg.Duplicates.Window +
			s.of(perVisitor*cfg.Visitors.LRU+perPosition*cfg.Ledger.Cache+2*cfg.Chunk.MaxBytes)
		if c.limit > 200<<20 && int64(needs) > c.limit/5*4+1000 {
			t.Errorf("%d partitions in %d: %+v needs %d", c.partitions, c.limit, s, needs)
		}
	}
}

// Partitions whose windows do not fit are left, and the consumer says so; the caches that it has are as large as it says.
func TestPartitionsThatDoNotFitAreLeft(t *testing.T) {
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	c, err := New(cfg, memstore.New(), prometheus.NewRegistry(), slog.New(slog.NewJSONHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	var all []models.Partition
	for i := range 200 {
		all = append(all, models.Partition{Topic: "visits", Number: i})
	}
	c.Memory = 460 << 20
	counted := c.share(all)
	if len(counted) < 50 || len(counted) > 65 || counted[0] != all[0] {
		t.Errorf("%d of 200 partitions are counted: want those 50 to 65 that fit 460 MiB", len(counted))
	}
	var lines []map[string]any
	for line := range strings.Lines(said.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, m)
	}
	if len(lines) != 2 || fmt.Sprint(lines[0]["not_counted"]) != fmt.Sprint(200-len(counted)) || lines[1]["visitors.lru"] == nil {
		t.Errorf("the consumer says\n%s", said.String())
	}
	if again := c.share(all[:12]); len(again) != 12 || c.shares.part != 1 {
		t.Errorf("with 12 partitions: %d, %+v", len(again), c.shares)
	}
	c.Alone = true // nobody would ever count the others
	if counted := c.share(all); len(counted) != 200 {
		t.Errorf("one that is alone counts %d of 200 partitions", len(counted))
	}
}
