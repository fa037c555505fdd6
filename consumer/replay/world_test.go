package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/configs"
	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/consumer/store/memstore"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// world is a broker in process with dead letters, and a store.
type world struct {
	log     *eventlog.Log
	letters int
	mu      sync.Mutex
	said    []string
}

const partitions = 3

// newWorld makes so many letters of visits and clicks, whose origins are beyond what is sent. Every third is written twice. All need the rules of
// options.
func newWorld(t *testing.T, letters int) *world {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "clicks", "visits"), kfake.SeedTopics(2, "dead-letters"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Kafka.Brokers = cluster.ListenAddrs()
	db := memstore.New()
	if _, err := db.Take(t.Context(), models.Partition{Topic: "visits"}, "a consumer"); err != nil {
		t.Fatal(err)
	}
	l, err := eventlog.New(cfg, db, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{log: l, letters: letters}
	for i := range letters {
		topic, value := "visits", fmt.Sprintf(`{"v":1,"id":"e%d","siteId":"shpo","guid":"g%d","ts":1538352000}`, i, i%7)
		if i%4 == 0 {
			topic, value = "clicks", fmt.Sprintf(`{"v":1,"id":"e%d","link":"x","ip":"203.0.113.%d","ts":1538352000}`, i, i%7)
		}
		w.bury(t, models.Position{Topic: topic, Partition: i % partitions, Offset: int64(1000 + i)}, value, 1+(i%3)/2)
	}
	return w
}

// bury writes a dead letter, so many times.
func (w *world) bury(t *testing.T, origin models.Position, value string, times int) {
	t.Helper()
	m := kafka.Message{Topic: origin.Topic, Partition: origin.Partition, Offset: origin.Offset, Key: []byte("k"), Value: []byte(value)}
	w.buryAs(t, m, "bad_timestamp", times)
}

// buryAs writes the dead letter of a message, so many times.
func (w *world) buryAs(t *testing.T, of kafka.Message, reason string, times int) {
	t.Helper()
	dead := &eventlog.DeadLetter{Message: of, Invalid: &models.Invalid{Reason: reason}}
	for i := range times {
		m := dead.Encode(eventlog.MaxDeadBytes)
		r := kafka.Record{Key: kafka.NewBytes(m.Key), Value: kafka.NewBytes(m.Value), Headers: m.Headers, Time: time.Now()}
		if _, err := raw.Append(t.Context(), w.log.Kafka, models.Partition{Topic: "dead-letters", Number: (int(of.Offset) + i) % 2}, []kafka.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
}

// fill writes messages that are no events to each partition of a topic.
func (w *world) fill(t *testing.T, topic string, n int) {
	t.Helper()
	for number := range partitions {
		var list []kafka.Record
		for range n {
			list = append(list, kafka.Record{Value: kafka.NewBytes([]byte(topics.Probe)), Time: time.Now()})
		}
		if _, err := raw.Append(t.Context(), w.log.Kafka, models.Partition{Topic: topic, Number: number}, list); err != nil {
			t.Fatal(err)
		}
	}
}

// options mend all letters of newWorld.
func options(t *testing.T) Options {
	t.Helper()
	o := Options{Send: true, Rate: 1e6, Ahead: time.Minute}
	for _, r := range [][2]string{{"scale", "ts=1000"}, {"site", "shpo=shop"}, {"rename", "link=short_url"}} {
		rule, err := deadletters.ParseRule(r[0], r[1])
		if err != nil {
			t.Fatal(err)
		}
		o.Rules = append(o.Rules, rule)
	}
	return o
}

// replayer makes one with small batches that waits for nobody. writes, if not nil, is called in place of each write.
func (w *world) replayer(o Options, writes func(appender) appender) *replayer {
	r := newReplayer(w.log, o, func(line string, args ...any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.said = append(w.said, fmt.Sprintf(line, args...))
	})
	r.size, r.times.settle = 4, 10*time.Millisecond
	if writes != nil {
		r.ledger.append = writes(r.ledger.append)
	}
	return r
}

// replay runs one, which must succeed.
func (w *world) replay(t *testing.T, o Options) *deadletters.Report {
	t.Helper()
	got, err := w.replayer(o, nil).run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// sent counts the events in the topics by origin. Each must be one that consumers count.
func (w *world) sent(t *testing.T) map[string]int {
	t.Helper()
	w.log.Kafka.Forget()
	src, err := w.log.Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, topic := range src.Topics() {
		for _, p := range src[topic].All() {
			_, err := raw.Read(t.Context(), w.log.Kafka, p, eventlog.Span{To: math.MaxInt64}, func(m kafka.Message) error {
				if string(m.Value) == topics.Probe {
					return nil
				}
				if _, err := src[topic].Inspect.Event(m); err != nil {
					t.Errorf("%s would be a dead letter again: %v", m.Value, err)
				}
				for _, h := range m.Headers {
					count[string(h.Value)]++
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	return count
}

// onceEach fails unless every letter was sent once.
func (w *world) onceEach(t *testing.T) {
	t.Helper()
	got := w.sent(t)
	for origin, n := range got {
		if n != 1 {
			t.Errorf("%s was sent %d times", origin, n)
		}
	}
	if len(got) != w.letters {
		t.Errorf("%d letters were sent, want %d", len(got), w.letters)
	}
}

var errKilled = errors.New("killed")

// killer is a process that is killed at its n-th write, counted from 0: before it, or after Kafka has it.
type killer struct {
	n      int
	after  bool
	cancel context.CancelFunc // nil: the write fails, and the process goes on
	count  int
}

func (k *killer) writes(write appender) appender {
	return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
		at := k.count
		k.count++
		if at < k.n || at > k.n && k.cancel == nil {
			return write(ctx, p, records)
		}
		if at == k.n && k.after {
			if _, err := write(ctx, p, records); err != nil {
				return 0, err
			}
		}
		if k.cancel != nil {
			k.cancel()
		}
		return 0, errKilled
	}
}

// has tells whether a line was reported.
func (w *world) has(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(strings.Join(w.said, "\n"), part)
}
