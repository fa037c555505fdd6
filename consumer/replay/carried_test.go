package replay

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/raw"
	"footfall/consumer/maintenance"
	"footfall/models"
)

// Somebody added partitions, and events that a producer placed by the new number became dead letters. What consumer grow carries over is not
// sent as well.
func TestLettersThatGrowCarriesOver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	const added = 5
	w := newWorld(t, 0)
	if _, err := w.log.Sources(t.Context()); err != nil { // as consumers do: it is counted with three partitions
		t.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(w.log.Config.Kafka.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewPtrCreatePartitionsRequest()
	request.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: "visits", Count: added}}
	if _, err := request.RequestWith(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	w.log.Kafka.Forget()

	// put writes a visit of its own visitor to a partition, and buries it.
	visitors := 0
	put := func(number int, placed func(key []byte) bool) string {
		t.Helper()
		for {
			visitors++
			v := &models.Visit{V: 1, ID: fmt.Sprint("e", visitors), SiteID: "shop", GUID: fmt.Sprint("g", visitors), TS: models.Earliest, Features: make([]string, 2)}
			key := []byte(v.KafkaKey())
			if !placed(key) {
				continue
			}
			value, err := models.AppendEvent(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			at, err := raw.Append(t.Context(), w.log.Kafka, models.Partition{Topic: "visits", Number: number},
				[]kafka.Record{{Key: kafka.NewBytes(key), Value: kafka.NewBytes(value), Time: time.Now()}})
			if err != nil {
				t.Fatal(err)
			}
			w.buryAs(t, kafka.Message{Topic: "visits", Partition: number, Offset: at, Key: key, Value: value}, models.ReasonWrongPartition, 1)
			return v.ID
		}
	}
	before, now := eventlog.PartitionNumbers(partitions), eventlog.PartitionNumbers(added)
	byNew := func(number int) func([]byte) bool {
		return func(key []byte) bool {
			return eventlog.PartitionOf(key, now) == number && eventlog.PartitionOf(key, before) != number
		}
	}
	early := put(0, byNew(0)) // before the offset where carrying starts
	carried := []string{put(0, byNew(0)), put(1, byNew(1)), put(added-1, byNew(added-1))}
	misplaced := put(0, func(key []byte) bool {
		return eventlog.PartitionOf(key, now) != 0 && eventlog.PartitionOf(key, before) != 0
	})
	if _, err := w.log.Store.Setting(t.Context(), eventlog.Fact("visits", "carried 0 from"), "1"); err != nil {
		t.Fatal(err)
	}
	err = maintenance.RunGrow(t.Context(), w.log.Config, w.log.Store, "visits", 4, time.Millisecond, w.log.Logger, func(string, ...any) {})
	if err == nil {
		t.Fatal("it waited for nobody")
	}
	w.log.Kafka.Forget()
	if got := w.replay(t, options(t)); got.Sent != 2 || got.Fates[deadletters.Carried] != len(carried) {
		t.Errorf("%+v", got)
	}
	ids := map[string]int{}
	for number := range 4 {
		_, err := raw.Read(t.Context(), w.log.Kafka, models.Partition{Topic: "visits-g2", Number: number}, eventlog.Span{To: math.MaxInt64}, func(m kafka.Message) error {
			e, err := w.log.Plan.DecodeVisit(m.Value)
			if err == nil {
				ids[e.EventID()]++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range append(carried, early, misplaced) {
		if ids[id] != 1 {
			t.Errorf("%s is there %d times: %v", id, ids[id], ids)
		}
	}
}
