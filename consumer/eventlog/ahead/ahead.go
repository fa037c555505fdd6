// Package ahead bounds how far an event of a topic may be ahead of its message's Kafka time: visitors of a month that is far away would never be
// retired. Events below the offsets that are recorded were counted without the bound, and repairs decide about them as before.
package ahead

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
)

// Fact is the name of the fact of a topic that records its bound.
const Fact = "ahead"

// Bound is that of one topic. Safe for concurrent use; nil bounds nothing.
type Bound struct {
	// Setting is the fact's store.Setting.
	Setting func(ctx context.Context, value string) (string, error)
	// Ends asks for the topic's ends, by partition. A sealed topic gets no bound.
	Ends   func(ctx context.Context) (map[int]int64, error)
	Sealed bool
	rule   atomic.Pointer[rule] // nil: it was not recorded when it was last read
}

type rule struct {
	Most time.Duration `json:"most"`
	From []int64       `json:"from"` // by partition
}

// Read reads the bound. One that is recorded later begins beyond what the log has now: read an end of the log first, and then this.
func (b *Bound) Read(ctx context.Context) error { return b.record(ctx, "") }

// Record records a bound from the topic's ends on, unless there is one. Call it while no consumer of another DecisionVersion can count.
func (b *Bound) Record(ctx context.Context) error {
	if b == nil || b.Sealed || b.rule.Load() != nil {
		return nil
	}
	ends, err := b.Ends(ctx)
	if err != nil {
		return err
	}
	r := rule{Most: models.MaxAhead, From: make([]int64, len(ends))}
	for number, end := range ends {
		r.From[number] = end
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.record(ctx, string(text))
}

func (b *Bound) record(ctx context.Context, value string) error {
	if b == nil || b.rule.Load() != nil {
		return nil
	}
	text, err := b.Setting(ctx, value)
	if err != nil || text == "" {
		return err
	}
	r := &rule{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return fmt.Errorf("reading how far ahead events may be, %q: %w", text, err)
	}
	b.rule.Store(r)
	return nil
}

// InForce tells whether events at an offset are bounded.
func (b *Bound) InForce(partition int, offset int64) bool {
	if b == nil {
		return false
	}
	r := b.rule.Load()
	return r != nil && partition < len(r.From) && offset >= r.From[partition]
}

// Refuse returns why the event of a message is too far ahead, or nil. A message without a time is not bounded.
func (b *Bound) Refuse(e models.Event, m kafka.Message) error {
	if !b.InForce(m.Partition, m.Offset) || m.Time.IsZero() {
		return nil
	}
	if most := b.rule.Load().Most; e.Time().Sub(m.Time) > most {
		return &models.Invalid{Reason: models.ReasonTimestampInFuture, Detail: fmt.Sprintf("more than %v ahead of the message's Kafka time", most)}
	}
	return nil
}
