package rollup

import (
	"errors"
	"fmt"

	"footfall/configs"
	"footfall/consumer/rollup/latest"
	"footfall/models"
)

const (
	// maxChunkEvents and maxChunkBytes bound what may be configured. Time bounds a chunk as well: see package pace. What a chunk adds to one key
	// is checked apart from that: see tooLarge.
	maxChunkEvents = 1_000_000
	maxChunkBytes  = 256 << 20
	// splitAbove: only a chunk of more events may be too large for the store.
	splitAbove = 500
	// costAtOnce bounds how many events are decided and summed at once (packed.Events.Cost): 50,000 clicks, or 12,000 visits with two features.
	// With six a visit asks about 192 sightings, and adds to 64 keys. Many at once share requests to the store, and wait for it together.
	costAtOnce = 150_000
)

// Sensible refuses a configuration that would count nothing, or never stop, with a *configs.Wrong.
func Sensible(cfg configs.Consumer) error {
	if err := checkLimits(cfg); err != nil {
		return configs.MarkWrong(fmt.Errorf("checking the configuration: %w", err))
	}
	return nil
}

func checkLimits(cfg configs.Consumer) error {
	t := cfg.Kafka.Topics
	if err := configs.CheckKafka(cfg.Kafka.Brokers, t); err != nil {
		return err
	}
	switch {
	case t.Clicks == t.Visits || t.Clicks == t.Dead || t.Visits == t.Dead:
		return errors.New("kafka.topics: clicks, visits and dead cannot share a topic")
	case isGeneration(t.Clicks) || isGeneration(t.Visits):
		return errors.New("kafka.topics: a name that ends in -g and a number is a later generation; want the first generation's name")
	case cfg.Kafka.Group == "":
		return errors.New("kafka.group is empty")
	case cfg.Kafka.SessionTimeout <= 0:
		return errors.New("kafka.session_timeout must be more than 0")
	case cfg.Chunk.MaxEvents < 1 || cfg.Chunk.MaxEvents > maxChunkEvents:
		return fmt.Errorf("chunk.max_events is %d: want 1 to %d", cfg.Chunk.MaxEvents, maxChunkEvents)
	case cfg.Chunk.MaxBytes < 1 || cfg.Chunk.MaxBytes > maxChunkBytes:
		return fmt.Errorf("chunk.max_bytes is %d: want 1 to %d", cfg.Chunk.MaxBytes, maxChunkBytes)
	case cfg.Chunk.MaxAge <= 0:
		return errors.New("chunk.max_age must be more than 0")
	case cfg.Duplicates.Window < 0:
		return errors.New("duplicates.window must not be negative")
	case cfg.Duplicates.Age <= 0:
		return errors.New("duplicates.age must be more than 0; to count duplicates, set duplicates.window to 0")
	case cfg.Visitors.LRU < 0:
		return errors.New("visitors.lru must not be negative; 0 turns the cache off")
	case cfg.Visitors.IPTTL < 0 || cfg.Visitors.IPTTL > latest.MaxTTL:
		return fmt.Errorf("visitors.ip_ttl is %v: want 0s (rows stay) to %v", cfg.Visitors.IPTTL, latest.MaxTTL)
	case cfg.Ledger.Cache < 1:
		return errors.New("ledger.cache must be at least 1")
	}
	return nil
}

// isGeneration tells whether a topic's name is that of a generation after the first.
func isGeneration(topic string) bool {
	_, n := models.SplitGeneration(topic)
	return n > 1
}
