package replay

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/consumer/maintenance"
	"footfall/models"
)

// limit sets how many bytes a request to a topic may have.
func (w *world) limit(t *testing.T, topic string, bytes int) {
	t.Helper()
	answer, err := w.log.Kafka.Client(10*time.Second).IncrementalAlterConfigs(t.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: "max.message.bytes", Value: fmt.Sprint(bytes)}}}},
	})
	if err != nil || answer.Resources[0].Error != nil {
		t.Fatal(answer, err)
	}
}

// large buries a letter of a visit that has about so many bytes.
func (w *world) large(t *testing.T, offset int64, bytes int) {
	t.Helper()
	value := fmt.Sprintf(`{"v":1,"id":"l%d","siteId":"shop","guid":"g","ts":1538352000,"feature1":%q}`, offset, strings.Repeat("x", bytes))
	w.bury(t, models.Position{Topic: "visits", Offset: offset}, value, 1)
	w.letters++
}

// A batch that is too large for Kafka is sent in parts. A letter that is too large by itself stays, and the others are sent.
func TestBatchesThatAreTooLarge(t *testing.T) {
	w := newWorld(t, 0)
	for i := range 8 {
		w.large(t, int64(2000+i), 100)
	}
	w.large(t, 2008, 1000)
	w.limit(t, "visits", 700)
	r := w.replayer(options(t), nil)
	r.size = 20
	got, err := r.run(t.Context())
	if err != nil || got.Sent != 8 || got.Fates[deadletters.TooLarge] != 1 || got.Fates[deadletters.Send] != 8 || !w.has("visits/0/2008 is too large") {
		t.Errorf("%+v, %v", got, err)
	}
	w.limit(t, "visits", 1<<20)
	if got := w.replay(t, options(t)); got.Sent != 1 || got.Fates[deadletters.Before] != 8 {
		t.Errorf("%+v", got)
	}
	w.onceEach(t)
}

// A topic that is being sealed refuses every size, and the tables do not say so yet. No letter is taken for too large: they wait for the next generation.
func TestATopicThatIsBeingSealed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	w := newWorld(t, some)
	w.fill(t, "visits", 1000+some)
	refused, grown := 0, false
	r := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			if p.Topic != "visits" {
				return write(ctx, p, records)
			}
			if refused++; refused == 1 {
				w.limit(t, "visits", 1)
			}
			if refused == 2 {
				grown = true
				_ = maintenance.RunGrow(ctx, w.log.Config, w.log.Store, "visits", 5, time.Millisecond, w.log.Logger, func(string, ...any) {}) // nobody counts
			}
			return write(ctx, p, records)
		}
	})
	if got, err := r.run(t.Context()); err != nil || got.Sent != some || got.Fates[deadletters.TooLarge] != 0 || !grown {
		t.Errorf("%+v, %v", got, err)
	}
	w.onceEach(t)
}

// Requests stay well below what Kafka accepts by default, however many letters go to one partition.
func TestRequestsAreBounded(t *testing.T) {
	w := newWorld(t, 0)
	for i := range 20 {
		w.large(t, int64(2000+i), 1000)
	}
	most, requests := 0, 0
	r := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			if p.Topic == "visits" {
				most, requests = max(most, len(records)), requests+1
			}
			return write(ctx, p, records)
		}
	})
	r.size, r.most = 20, 5000
	if got, err := r.run(t.Context()); err != nil || got.Sent != 20 || most != 4 || requests != 5 {
		t.Errorf("%+v, %v; %d requests of up to %d", got, err, requests, most)
	}
	w.onceEach(t)
}
