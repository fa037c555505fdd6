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
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// GroupOffset is how far a group is in a partition, and who said so.
type GroupOffset struct {
	Offset int64 // negative: the group has none
	Mark
}

// Mark is what a consumer commits beside an offset. Kafka keeps both together. Whoever else moves the offset, as its own tools do,
// writes none: so an offset with a mark was counted into the tables that it names.
type Mark struct {
	Tables string // which they are; empty: there is no mark
	Tail   string // the sum of the message before the offset; empty: not known
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

// readMark reads what was committed beside an offset. What is none of ours is no mark.
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

// tablesOf is the name that a set of tables got when it was first counted into. No other set has it.
func tablesOf(ctx context.Context, store store.Store) (string, error) {
	return store.Setting(ctx, "tables", uuid.NewString())
}

// GroupOffsets asks how far a group is in each of the partitions.
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
		return nil, fmt.Errorf("asking how far group %s is: %w", group, err)
	}
	for topic, list := range answer.Topics {
		for _, o := range list {
			if o.Error != nil {
				return nil, fmt.Errorf("asking how far group %s is in partition %d of %s: %w", group, o.Partition, topic, o.Error)
			}
			out[models.Partition{Topic: topic, Number: o.Partition}] = GroupOffset{o.CommittedOffset, readMark(o.Metadata)}
		}
	}
	for _, p := range partitions {
		if _, told := out[p]; !told {
			return nil, fmt.Errorf("asking how far group %s is: no answer about partition %d of %s", group, p.Number, p.Topic)
		}
	}
	return out, nil
}

// Commit tells the group how far partitions are. It fails if they were given to others.
type Commit func(ctx context.Context, at map[models.Partition]GroupOffset) error

// Committer commits as a member of a generation: Kafka refuses it when that is over. kafka-go's Generation cannot send marks.
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
			return fmt.Errorf("%d of %d partitions were acknowledged", acknowledged, len(at))
		}
		return nil
	}
}

// groupPatience is how long a group's coordinator may be out of reach at start. A cluster that is new needs some seconds to make one.
const groupPatience = 30 * time.Second

// CheckUnshared refuses a group that counts into other tables as well. It looks at all partitions, whoever has them: of two who begin at
// the same time, and claim their own first, one at least sees the other. A group that does not answer is asked again for as long as
// patience says. The topics are not: looking for them waits for brokers by itself, and fails at once where that is no use, as with a
// wrong password.
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
		if !time.Now().Before(until) || retry.Sleep(ctx, retry.Backoff(attempt)) != nil {
			return err
		}
	}
}

// onlyInto refuses the places of a group that counts into other tables than these.
func onlyInto(tables, group string, places map[models.Partition]GroupOffset) error {
	for _, p := range slices.SortedFunc(maps.Keys(places), models.Partition.Compare) {
		if at := places[p]; at.Tables != "" && at.Tables != tables {
			return shared(group, p, at, tables)
		}
	}
	return nil
}

// AllPartitions lists those of all generations of the topics that are counted.
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
