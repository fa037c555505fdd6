package eventlog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"

	"footfall/consumer/store"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// GroupOffset is a group's committed offset in a partition, and the mark beside it.
type GroupOffset struct {
	Offset int64 // negative: the group has none
	Mark
}

// Mark is what a consumer commits beside an offset, as Kafka's metadata of the commit. Other tools that move the offset write none. So all
// events below an offset with a mark were counted into the tables that the mark names.
type Mark struct {
	Tables string // the name of the set of tables; empty: there is no mark
	Tail   string // the fingerprint of the message before the offset; empty: not known
}

// markVersion begins every mark.
const markVersion = "footfall/1"

func (m Mark) String() string {
	text := markVersion + " tables=" + m.Tables
	if m.Tail != "" {
		text += " tail=" + m.Tail
	}
	return text
}

// readMark parses the metadata of a commit. It returns no mark if a consumer of ours did not write it.
func readMark(metadata string) (m Mark) {
	fields := strings.Fields(metadata)
	if len(fields) == 0 || fields[0] != markVersion {
		return m
	}
	for _, field := range fields[1:] {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "tables":
			m.Tables = value
		case "tail":
			m.Tail = value
		}
	}
	return m
}

// tablesOf returns the unique name of a store's set of tables. The first caller makes it.
func tablesOf(ctx context.Context, store store.Store) (string, error) {
	return store.Setting(ctx, "tables", uuid.NewString())
}

// GroupOffsets asks Kafka for the group's offset in each of the partitions.
func (l *Log) GroupOffsets(ctx context.Context, group string, partitions []models.Partition) (map[models.Partition]GroupOffset, error) {
	asked := map[string][]int{}
	for _, p := range partitions {
		asked[p.Topic] = append(asked[p.Topic], p.Number)
	}
	answer, err := l.Kafka.Client(10*time.Second).OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: asked})
	if err == nil {
		err = answer.Error
	}
	out := map[models.Partition]GroupOffset{}
	if errors.Is(err, kafka.GroupIdNotFound) {
		for _, p := range partitions {
			out[p] = GroupOffset{Offset: -1}
		}
		return out, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the offsets of group %s: %w", group, dial.MarkFinal(err))
	}
	for topic, list := range answer.Topics {
		for _, o := range list {
			if o.Error != nil {
				return nil, fmt.Errorf("asking for the offset of group %s in partition %d of %s: %w", group, o.Partition, topic, dial.MarkFinal(o.Error))
			}
			out[models.Partition{Topic: topic, Number: o.Partition}] = GroupOffset{o.CommittedOffset, readMark(o.Metadata)}
		}
	}
	for _, p := range partitions {
		if _, told := out[p]; !told {
			return nil, fmt.Errorf("asking for the offsets of group %s: Kafka left out partition %d of %s", group, p.Number, p.Topic)
		}
	}
	return out, nil
}

// Commit commits offsets of the group. It fails after a rebalance.
type Commit func(ctx context.Context, at map[models.Partition]GroupOffset) error

// Committer commits as a member of one generation of the group: Kafka rejects commits once it is over. kafka-go's own commit cannot send
// marks.
func (l *Log) Committer(gen *kafka.Generation) Commit {
	return func(ctx context.Context, at map[models.Partition]GroupOffset) error {
		request := &kafka.OffsetCommitRequest{
			GroupID: gen.GroupID, GenerationID: int(gen.ID), MemberID: gen.MemberID, Topics: map[string][]kafka.OffsetCommit{},
		}
		for p, at := range at {
			request.Topics[p.Topic] = append(request.Topics[p.Topic], kafka.OffsetCommit{Partition: p.Number, Offset: at.Offset, Metadata: at.String()})
		}
		answer, err := l.Kafka.Client(10*time.Second).OffsetCommit(ctx, request)
		if err != nil {
			return err
		}
		acknowledged := 0
		for topic, list := range answer.Topics {
			for _, p := range list {
				if p.Error != nil {
					return fmt.Errorf("partition %d of %s: %w", p.Partition, topic, p.Error)
				}
				acknowledged++
			}
		}
		if acknowledged != len(at) {
			return fmt.Errorf("the group coordinator acknowledged %d of %d partitions", acknowledged, len(at))
		}
		return nil
	}
}

// groupPatience is how long a starting consumer waits for the group's coordinator. A new cluster needs some seconds to create it.
const groupPatience = 30 * time.Second

// CheckUnshared returns a *Refusal if the group also counts into other tables. It checks all partitions, whoever owns them: of two consumers
// that start together, each marks its own partitions first, so at least one sees the other's mark. It retries for as long as patience if
// the group does not answer. Errors about topics are returned at once: that lookup waits for brokers by itself.
func (l *Log) CheckUnshared(ctx context.Context, patience time.Duration) error {
	partitions, err := l.AllPartitions(ctx)
	if err != nil {
		return err
	}
	for until, attempt := time.Now().Add(patience), 0; ; attempt++ {
		places, err := l.GroupOffsets(ctx, l.Config.Kafka.Group, partitions)
		if err == nil {
			return onlyInto(l.Tables, l.Config.Kafka.Group, places)
		}
		if !time.Now().Before(until) || retry.IsFinal(err) || retry.Sleep(ctx, retry.Backoff(attempt)) != nil {
			return err
		}
	}
}

// onlyInto refuses a group whose marks name other tables than these.
func onlyInto(tables, group string, places map[models.Partition]GroupOffset) error {
	for _, p := range slices.SortedFunc(maps.Keys(places), models.Partition.Compare) {
		if at := places[p]; at.Tables != "" && at.Tables != tables {
			return shared(group, p, at, tables)
		}
	}
	return nil
}

// AllPartitions lists the partitions of all generations of both topics, as Kafka has them.
func (l *Log) AllPartitions(ctx context.Context) (list []models.Partition, err error) {
	for _, base := range []string{l.Config.Kafka.Topics.Clicks, l.Config.Kafka.Topics.Visits} {
		found, err := topics.Generations(ctx, l.Kafka, base)
		if err != nil {
			return nil, err
		}
		for _, g := range found {
			for number := range g.Partitions {
				list = append(list, models.Partition{Topic: g.Topic, Number: number})
			}
		}
	}
	return list, nil
}
