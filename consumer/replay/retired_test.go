package replay

import (
	"math"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// A visit that a retirement refused is sent, with another id, only if it is refused to this day. Tables that were restored from before the
// retirement have counted it.
func TestVisitsOfRetiredIntervals(t *testing.T) {
	const offset, before = 1000, 1_600_000_000_000
	for name, c := range map[string]struct {
		known store.Retirements
		sent  int
	}{
		"refused":                    {store.Retirements{{Before: before, Topic: "visits", From: map[int]int64{0: offset}}}, 1},
		"restored":                   {nil, 0},
		"restored and retired again": {store.Retirements{{Before: before, Topic: "visits", From: map[int]int64{0: offset + 1}}}, 0},
		"restored, being retired":    {store.Retirements{{Before: before, Topic: "visits"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 0)
			w.log.Store.(*memstore.Memory).Told.Retirements = c.known
			w.buryAs(t, kafka.Message{Topic: "visits", Offset: offset, Key: []byte("shop|g"),
				Value: []byte(`{"v":1,"id":"e","siteId":"shop","guid":"g","ts":1538352000000}`)}, models.ReasonIntervalRetired, 1)
			rule, err := deadletters.ParseRule("set", "ts=1754006400000")
			if err != nil {
				t.Fatal(err)
			}
			o := options(t)
			o.Rules = deadletters.Rules{rule}
			if got := w.replay(t, o); got.Sent != c.sent || got.Fates[deadletters.Counted] != 1-c.sent {
				t.Errorf("%+v", got)
			}
			for number := range partitions {
				_, err := raw.Read(t.Context(), w.log.Kafka, models.Partition{Topic: "visits", Number: number}, eventlog.Span{To: math.MaxInt64}, func(m kafka.Message) error {
					if !strings.Contains(string(m.Value), `"id":"replayed-`) {
						t.Errorf("consumers have seen the id of %s", m.Value)
					}
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// An event that was refused since it was too far ahead is sent once its time has come.
func TestEventsThatWereTooFarAhead(t *testing.T) {
	w := newWorld(t, 0)
	w.buryAs(t, kafka.Message{Topic: "clicks", Offset: 1000, Key: []byte("link|192.0.2.1"),
		Value: []byte(`{"v":1,"id":"e","short_url":"link","ip":"192.0.2.1","ts":1538352000000}`)}, models.ReasonTimestampInFuture, 1)
	o := options(t)
	o.Rules = nil
	if got := w.replay(t, o); got.Sent != 1 || got.Fates[deadletters.Counted] != 0 {
		t.Errorf("%+v", got)
	}
}
