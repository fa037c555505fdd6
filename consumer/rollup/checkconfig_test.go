package rollup

import (
	"strings"
	"testing"
	"time"

	"footfall/configs"
)

func TestSensible(t *testing.T) {
	f := func(change func(*configs.Consumer), want string) {
		t.Helper()
		cfg, err := configs.LoadConsumer("")
		if err != nil {
			t.Fatal(err)
		}
		change(&cfg)
		err = checkLimits(cfg)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("checkLimits: %v, want %q", err, want)
		}
	}
	f(func(*configs.Consumer) {}, "")
	f(func(c *configs.Consumer) { c.Visitors.LRU, c.Duplicates.Window = 0, 0 }, "")
	f(func(c *configs.Consumer) { c.Kafka.Brokers = nil }, "kafka.brokers")
	f(func(c *configs.Consumer) { c.Kafka.Topics.Dead = "" }, "kafka.topics")
	f(func(c *configs.Consumer) { c.Kafka.Topics.Dead = c.Kafka.Topics.Clicks }, "kafka.topics")
	f(func(c *configs.Consumer) { c.Kafka.Topics.Visits = "visits-g2" }, "later generation")
	f(func(c *configs.Consumer) { c.Kafka.Group = "" }, "kafka.group")
	f(func(c *configs.Consumer) { c.Kafka.SessionTimeout = 0 }, "kafka.session_timeout")
	f(func(c *configs.Consumer) { c.Chunk.MaxEvents = 0 }, "chunk.max_events")
	f(func(c *configs.Consumer) { c.Chunk.MaxEvents = 1_000_001 }, "chunk.max_events")
	f(func(c *configs.Consumer) { c.Chunk.MaxBytes = 0 }, "chunk.max_bytes")
	f(func(c *configs.Consumer) { c.Chunk.MaxBytes = 257 << 20 }, "chunk.max_bytes")
	f(func(c *configs.Consumer) { c.Chunk.MaxAge = 0 }, "chunk.max_age")
	f(func(c *configs.Consumer) { c.Duplicates.Window = -1 }, "duplicates.window")
	f(func(c *configs.Consumer) { c.Visitors.LRU = -1 }, "visitors.lru")
	f(func(c *configs.Consumer) { c.Visitors.IPTTL = -1 }, "visitors.ip_ttl")
	f(func(c *configs.Consumer) { c.Visitors.IPTTL = 6 * 365 * 24 * time.Hour }, "visitors.ip_ttl")
	f(func(c *configs.Consumer) { c.Ledger.Cache = 0 }, "ledger.cache")
}
