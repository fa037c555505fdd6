package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// move sets the group's offset of clicks as Kafka's own tool does, which writes no mark.
func (b *bench) move(t *testing.T, partition int, offset int64) {
	t.Helper()
	b.put(t, kafka.OffsetCommit{Partition: partition, Offset: offset})
}

// put sets the group's offset of clicks, and what is beside it.
func (b *bench) put(t *testing.T, at kafka.OffsetCommit) {
	t.Helper()
	topic := b.cfg.Kafka.Topics.Clicks
	client := &kafka.Client{Addr: kafka.TCP(b.cfg.Kafka.Brokers...)}
	answer, err := client.OffsetCommit(t.Context(), &kafka.OffsetCommitRequest{
		GroupID: b.cfg.Kafka.Group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{topic: {at}},
	})
	if err != nil || answer.Topics[topic][0].Error != nil {
		t.Fatal(err, answer)
	}
}

// place reads the group's offset, and the mark beside it.
func (b *bench) place(t *testing.T, p models.Partition) kafka.OffsetCommit {
	t.Helper()
	client := &kafka.Client{Addr: kafka.TCP(b.cfg.Kafka.Brokers...)}
	answer, err := client.OffsetFetch(t.Context(), &kafka.OffsetFetchRequest{GroupID: b.cfg.Kafka.Group, Topics: map[string][]int{p.Topic: {p.Number}}})
	if err != nil {
		t.Fatal(err)
	}
	at := answer.Topics[p.Topic][0]
	return kafka.OffsetCommit{Partition: p.Number, Offset: at.CommittedOffset, Metadata: at.Metadata}
}

// deleteGroup does what the refusal about shared groups asks for.
func (b *bench) deleteGroup(t *testing.T) {
	t.Helper()
	request := kmsg.NewPtrDeleteGroupsRequest()
	request.Groups = []string{b.cfg.Kafka.Group}
	if answer := ask(t, b, request); answer.Groups[0].ErrorCode != 0 {
		t.Fatal(answer)
	}
}

// deleteRecords deletes the offsets below before, as retention would.
func (b *bench) deleteRecords(t *testing.T, before int64) {
	t.Helper()
	request := kmsg.NewPtrDeleteRecordsRequest()
	request.Topics = []kmsg.DeleteRecordsRequestTopic{{Topic: b.cfg.Kafka.Topics.Clicks, Partitions: []kmsg.DeleteRecordsRequestTopicPartition{{Offset: before}}}}
	if answer := ask(t, b, request); answer.Topics[0].Partitions[0].ErrorCode != 0 {
		t.Fatal(answer)
	}
}

// finishes runs a consumer until so many clicks are counted in all. It must not fail.
func (b *bench) finishes(t *testing.T, want int64) {
	t.Helper()
	if err := b.run(t, want); err != nil {
		t.Fatal(err)
	}
}

// A consumer refuses a group that was moved forward, at every start, and tells how many events would be skipped. After the group is set
// back as the refusal says, every event counts once.
func TestAGroupThatWasMovedForward(t *testing.T) { onBoth(t, 1, aGroupThatWasMovedForward) }

func aGroupThatWasMovedForward(t *testing.T, b *bench) {
	b.send(t, 0, 30)
	b.finishes(t, 30)
	b.send(t, 30, 40)
	b.move(t, 0, 38)
	for range 2 {
		b.refused(t, fmt.Sprintf("8 events of topic %s, partition 0 (offsets 30 to 37) are not counted", b.cfg.Kafka.Topics.Clicks), "--to-offset 30", "accept-gap")
	}
	b.move(t, 0, 30)
	b.finishes(t, 40)
}

// A consumer of new tables refuses a group offset that has no mark.
func TestNewTablesAndAnOffsetWithoutAMark(t *testing.T) {
	b := newBench(t, 1)
	b.send(t, 0, 30)
	b.move(t, 0, 20)
	for range 2 {
		b.refused(t, "20 events of topic clicks, partition 0 (offsets 0 to 19) are not counted")
	}
	b.move(t, 0, 0)
	b.finishes(t, 30)
}

// A consumer of new tables refuses a group that counts into other tables. After that the new tables can be counted by another group.
func TestNewTablesAndTheGroupOfOthers(t *testing.T) { onBoth(t, 1, newTablesAndTheGroupOfOthers) }

func newTablesAndTheGroupOfOthers(t *testing.T, b *bench) {
	b.send(t, 0, 30)
	b.finishes(t, 30)
	first := b.memory
	b.newTables()
	group := b.cfg.Kafka.Group
	b.refused(t, fmt.Sprintf("group %s counts partition 0 of topic %s, now at offset 30, into other tables", group, b.cfg.Kafka.Topics.Clicks),
		"--delete --group "+group)
	b.cfg.Kafka.Group += "_v2"
	b.finishes(t, 30)

	b.cfg.Kafka.Group, b.memory, b.store = group, first, first
	b.send(t, 30, 40)
	b.finishes(t, 40)
}

// crashing is a store that fails when its owner leaves, as if the owner had crashed.
type crashing struct{ *memstore.Memory }

func (crashing) NoteTail(context.Context, models.Partition, store.Tail) error {
	return errors.New("crashed")
}

func (crashing) Release(context.Context, store.Tenure, int64) (bool, error) {
	return false, errors.New("crashed")
}

// An owner notes its progress in the store 30 seconds after a commit. If it crashes before that, its successor must not refuse.
func TestACrashAfterTheCommit(t *testing.T) { onBoth(t, 1, aCrashAfterTheCommit) }

func aCrashAfterTheCommit(t *testing.T, b *bench) {
	b.send(t, 0, 30)
	b.store = crashing{b.memory}
	b.finishes(t, 30)
	clicks := models.Partition{Topic: b.cfg.Kafka.Topics.Clicks}
	if row := b.memory.OwnerRows[clicks]; row.Clean || row.Committed != 0 {
		t.Fatalf("the crash left %+v behind", row)
	}
	b.store = b.memory
	b.send(t, 30, 40)
	b.finishes(t, 40)
}

// Two sets of tables are first counted at the same time, with one group: at least one consumer refuses. With a group of its own each
// counts all events.
func TestTwoSetsOfTablesWithOneGroup(t *testing.T) { onBoth(t, 4, twoSetsOfTablesWithOneGroup) }

func twoSetsOfTablesWithOneGroup(t *testing.T, b *bench) {
	b.send(t, 0, 100)
	stores := []*memstore.Memory{b.memory, memstore.New()}
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	ended := make(chan error, len(stores))
	for _, store := range stores {
		c, err := New(b.cfg, store, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		go func() { ended <- c.Run(ctx) }()
	}
	if err := <-ended; !eventlog.IsRefusal(err) || !strings.Contains(err.Error(), "into other tables") {
		t.Errorf("the first to end said %v", err)
	}
	stop()
	<-ended
	b.deleteGroup(t)
	for i, store := range stores {
		b.store, b.memory = store, store
		clear(store.Settings) // else the tables belong to the first group
		b.cfg.Kafka.Group += fmt.Sprint("-", i)
		b.finishes(t, 100)
	}
}
