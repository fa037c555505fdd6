package maintenance

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
)

// factCarriedFrom is the name of the setting that records where carrying starts in a partition, if somebody added others.
func factCarriedFrom(topic string, partition int) string {
	return eventlog.Fact(topic, fmt.Sprintf("carried %d from", partition))
}

// carries tells whether consumers do not count a message in its sealed generation, so that it is carried over.
func carries(s *eventlog.Source, m kafka.Message) bool {
	end := int64(0) // where the counted part of the partition ends
	if m.Partition < s.Partitions() {
		end = s.Seal.Ends[m.Partition]
	}
	_, err := s.Inspect.Event(m)
	not := err != nil && eventlog.NoEvent(m)
	return !not && (m.Offset >= end || errors.Is(err, eventlog.ErrCarried))
}

// Carried knows which messages of a sealed generation consumer grow carries over. Safe for concurrent use.
type Carried struct {
	source *eventlog.Source
	from   []int64 // by counted partition: where carrying starts
}

// ReadCarried reads where carrying starts in a sealed generation. If grow has not recorded that yet, it may carry any message.
func ReadCarried(ctx context.Context, db store.Store, s *eventlog.Source) (Carried, error) {
	c := Carried{s, make([]int64, s.Partitions())}
	for partition := range c.from {
		recorded, err := db.Setting(ctx, factCarriedFrom(s.Topic, partition), "")
		switch {
		case err != nil:
			return c, err
		case recorded != "":
			if c.from[partition], err = strconv.ParseInt(recorded, 10, 64); err != nil {
				return c, fmt.Errorf("reading where carrying starts in partition %d of %s: %w", partition, s.Topic, err)
			}
		case s.Gone: // and grow cannot read it any more
			c.from[partition] = s.Seal.Ends[partition]
		}
	}
	return c, nil
}

// Has tells whether a message is carried over, or will be when consumer grow runs again.
func (c Carried) Has(m kafka.Message) bool {
	return carries(c.source, m) && (m.Partition >= len(c.from) || m.Offset >= c.from[m.Partition])
}
