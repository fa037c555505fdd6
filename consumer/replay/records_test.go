package replay

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/models"
)

// A ledger that Kafka has compacted says the same: records with a later one of the same key are gone, up to some offset, and so may be those that
// removed others.
func TestCompactionChangesNothing(t *testing.T) {
	w := newWorld(t, some)
	for _, n := range []int{1, 3, 4, 6} { // killed with intents that are open
		ctx, cancel := context.WithCancel(t.Context())
		k := &killer{n: n, after: true, cancel: cancel}
		if _, err := w.replayer(options(t), k.writes).run(ctx); err == nil {
			t.Fatalf("killed at write %d, and ended well", n)
		}
		cancel()
	}
	l := newLedger(w.log.Kafka, "dead-letters-replayed", nil)
	var records []kafka.Message
	_, err := raw.Read(t.Context(), w.log.Kafka, l.at, eventlog.Span{To: math.MaxInt64}, func(m kafka.Message) error {
		records = append(records, m)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := fold(t, records)
	if len(want.pending) == 0 || len(want.sent) == 0 {
		t.Fatalf("%d open intents and %d letters sent: that does not show anything", len(want.pending), len(want.sent))
	}
	removed := 0
	for range 100 {
		left := compact(records, rand.IntN(len(records)+1), rand.IntN(2) == 0)
		removed = max(removed, len(records)-len(left))
		if got := fold(t, left); !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	}
	if removed < 4 {
		t.Errorf("at most %d of %d records were removed", removed, len(records))
	}
}

func fold(t *testing.T, records []kafka.Message) *book {
	t.Helper()
	b := newBook()
	for _, m := range records {
		if _, err := b.add(m); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// compact is what Kafka's cleaner leaves of records, if it cleans below an offset. tombstones: those are gone as well.
func compact(records []kafka.Message, below int, tombstones bool) (left []kafka.Message) {
	last := map[string]int{}
	for i, m := range records[:below] {
		last[string(m.Key)] = i
	}
	for i, m := range records {
		if i < below && (last[string(m.Key)] != i || tombstones && len(m.Value) == 0) {
			continue
		}
		left = append(left, m)
	}
	return left
}

// What compaction removes does not end a batch of records.
func TestRecordsThatStayComeLast(t *testing.T) {
	w, settled := newWorld(t, some), 0
	r := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			if p.Topic == "dead-letters-replayed" && len(records) > 1 {
				settled++
				if records[len(records)-1].Value == nil {
					t.Error("the last record removes another one, and will be removed")
				}
			}
			return write(ctx, p, records)
		}
	})
	if _, err := r.run(t.Context()); err != nil || settled == 0 {
		t.Errorf("%d batches were settled, %v", settled, err)
	}
}

func TestRecordsThatAreNone(t *testing.T) {
	for key, value := range map[string]string{"": "{}", "else/x": "{}", "intent/x/1": "[]", "sent/x": "{}", "sent/visits/1/2": "[]"} {
		if _, err := newBook().add(kafka.Message{Key: []byte(key), Value: []byte(value)}); err == nil {
			t.Errorf("%q with %q is read", key, value)
		}
	}
}
