package rollup

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"footfall/consumer/eventlog"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

// write writes an event to Kafka directly.
func (b *bench) write(t *testing.T, topic string, e models.Event) {
	t.Helper()
	value, err := models.AppendEvent(nil, e)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Key: []byte(e.KafkaKey()), Value: value}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// Visitors of far months would never be retired: an event that is far ahead of its message's Kafka time is a dead letter, for
// repairs too, and also if it was written before anybody counted.
func TestEventsFarAheadAreRefused(t *testing.T) {
	onBoth(t, 1, func(t *testing.T, b *bench) {
		clicks, visits := b.cfg.Kafka.Topics.Clicks, b.cfg.Kafka.Topics.Visits
		click := func(id string, ahead time.Duration) *models.Click {
			return &models.Click{V: 1, ID: id, ShortURL: "link", IP: "192.0.2.1", TS: models.Millis(time.Now().Add(ahead).UnixMilli())}
		}
		l, err := eventlog.New(b.cfg, b.store, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		const far = 90 * 24 * time.Hour
		b.write(t, clicks, click("before", far))
		if err := b.run(t, 0); err != nil {
			t.Fatal(err)
		}
		b.write(t, clicks, click("far", far))
		visit, err := l.Plan.DecodeVisit(fmt.Appendf(nil, `{"v":1,"id":"far","siteId":"site","guid":"guid","ts":%d}`, time.Now().Add(far).UnixMilli()))
		if err != nil {
			t.Fatal(err)
		}
		b.write(t, visits, visit)
		b.write(t, clicks, click("near", 47*time.Hour))
		if err := b.run(t, 1); err != nil {
			t.Fatal(err)
		}
		dead, err := kgo.NewClient(kgo.SeedBrokers(b.cfg.Kafka.Brokers...), kgo.ConsumeTopics(b.cfg.Kafka.Topics.Dead), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
		if err != nil {
			t.Fatal(err)
		}
		defer dead.Close()
		for letters := 0; letters < 3; {
			got := dead.PollFetches(t.Context())
			if err := got.Err(); err != nil {
				t.Fatal(err)
			}
			got.EachRecord(func(r *kgo.Record) {
				letters++
				if reason := string(r.Headers[0].Value); reason != "timestamp_in_future" {
					t.Errorf("a dead letter of %s has the reason %s", r.Headers[2].Value, reason)
				}
			})
		}
		src, err := l.Sources(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var again []string
		reader := &eventlog.KafkaReader{Kafka: dial.Plain(b.cfg.Kafka.Brokers...), Sources: src}
		_, err = reader.Read(t.Context(), models.Partition{Topic: clicks}, eventlog.Span{To: 3}, l.Reach(), func(it eventlog.Item) {
			if it.Event != nil {
				again = append(again, it.Event.EventID())
			}
		})
		if err != nil || len(again) != 1 || again[0] != "near" {
			t.Errorf("read again, the events are %v: %v", again, err)
		}
	})
}
