package rollup

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
	"footfall/models"
)

// place is how far a group is in a partition, and who said so.
type place struct {
	offset int64 // negative: the group has none
	mark
}

// mark is what a consumer commits beside an offset. Kafka keeps both together. Whoever else moves the offset, as its own tools do,
// writes none: so an offset with a mark was counted into the tables that it names.
type mark struct {
	tables string // which they are; empty: there is no mark
	tail   string // the sum of the message before the offset; empty: not known
}

// markVersion begins every mark.
const markVersion = "footfall/1"

func (m mark) String() string {
	text := markVersion + " tables=" + m.tables
	if m.tail != "" {
		text += " tail=" + m.tail
	}
	return text
}

// readMark reads what was committed beside an offset. What is none of ours is no mark.
func readMark(metadata string) (m mark) {
	fields := strings.Fields(metadata)
	if len(fields) == 0 || fields[0] != markVersion {
		return m
	}
	for _, field := range fields[1:] {
		switch name, value, _ := strings.Cut(field, "="); name {
		case "tables":
			m.tables = value
		case "tail":
			m.tail = value
		}
	}
	return m
}

// tablesOf is the name that a set of tables got when it was first counted into. No other set has it.
func tablesOf(ctx context.Context, store store.Store) (string, error) {
	return store.Setting(ctx, "tables", uuid.NewString())
}

// places asks how far a group is in each of the partitions.
func (c *Consumer) places(ctx context.Context, group string, partitions []models.Partition) (map[models.Partition]place, error) {
	asked := map[string][]int{}
	for _, p := range partitions {
		asked[p.Topic] = append(asked[p.Topic], p.Number)
	}
	answer, err := c.kafka.Client(10*time.Second).OffsetFetch(ctx, &kafka.OffsetFetchRequest{GroupID: group, Topics: asked})
	if err == nil {
		err = answer.Error
	}
	out := map[models.Partition]place{}
	if errors.Is(err, kafka.GroupIdNotFound) {
		for _, p := range partitions {
			out[p] = place{offset: -1}
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
			out[models.Partition{Topic: topic, Number: o.Partition}] = place{o.CommittedOffset, readMark(o.Metadata)}
		}
	}
	for _, p := range partitions {
		if _, told := out[p]; !told {
			return nil, fmt.Errorf("asking how far group %s is: no answer about partition %d of %s", group, p.Number, p.Topic)
		}
	}
	return out, nil
}

// commit tells the group how far partitions are. It fails if they were given to others.
type commit func(ctx context.Context, at map[models.Partition]place) error

// committer commits as a member of a generation: Kafka refuses it when that is over. kafka-go's Generation cannot send marks.
func (c *Consumer) committer(gen *kafka.Generation) commit {
	return func(ctx context.Context, at map[models.Partition]place) error {
		request := &kafka.OffsetCommitRequest{
			GroupID: gen.GroupID, GenerationID: int(gen.ID), MemberID: gen.MemberID, Topics: map[string][]kafka.OffsetCommit{},
		}
		for p, at := range at {
			request.Topics[p.Topic] = append(request.Topics[p.Topic], kafka.OffsetCommit{Partition: p.Number, Offset: at.offset, Metadata: at.String()})
		}
		answer, err := c.kafka.Client(10*time.Second).OffsetCommit(ctx, request)
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

// claim puts the tables' mark on the partitions whose offset has none, where counting goes on. Whoever counts into other tables then
// sees it before the first event is counted. What owners before may have had under way is in doubt by then: a mark says that an owner
// was here. It returns how many it put it on.
func (o *ownership) claim(ctx context.Context, commit commit) (int, error) {
	unmarked := o.places()
	maps.DeleteFunc(unmarked, func(p models.Partition, _ place) bool { return o.partitions[p].said.tables == o.tables })
	if len(unmarked) == 0 {
		return 0, nil
	}
	if err := commit(ctx, unmarked); err != nil {
		return 0, fmt.Errorf("committing offsets: %w", err)
	}
	return len(unmarked), nil
}

// groupPatience is how long a group's coordinator may be out of reach at start. A cluster that is new needs some seconds to make one.
const groupPatience = 30 * time.Second

// unshared refuses a group that counts into other tables as well. It looks at all partitions, whoever has them: of two who begin at
// the same time, and claim their own first, one at least sees the other. A group that does not answer is asked again for as long as
// patience says. The topics are not: looking for them waits for brokers by itself, and fails at once where that is no use, as with a
// wrong password.
func (c *Consumer) unshared(ctx context.Context, patience time.Duration) error {
	partitions, err := c.everyPartition(ctx)
	if err != nil {
		return err
	}
	for until, attempt := time.Now().Add(patience), 0; ; attempt++ {
		places, err := c.places(ctx, c.cfg.Kafka.Group, partitions)
		if err == nil {
			return onlyInto(c.tables, c.cfg.Kafka.Group, places)
		}
		if !time.Now().Before(until) || sleep(ctx, backoff(attempt)) != nil {
			return err
		}
	}
}

// onlyInto refuses the places of a group that counts into other tables than these.
func onlyInto(tables, group string, places map[models.Partition]place) error {
	for _, p := range slices.SortedFunc(maps.Keys(places), models.Partition.Compare) {
		if at := places[p]; at.tables != "" && at.tables != tables {
			return shared(group, p, at, tables)
		}
	}
	return nil
}

// everyPartition lists those of all generations of the topics that are counted.
func (c *Consumer) everyPartition(ctx context.Context) (list []models.Partition, err error) {
	for _, base := range []string{c.cfg.Kafka.Topics.Clicks, c.cfg.Kafka.Topics.Visits} {
		found, err := topics.Generations(ctx, c.kafka, base)
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

func shared(group string, p models.Partition, at place, tables string) error {
	return &refusal{fmt.Sprintf("group %s counts partition %d of topic %s, now at offset %d, into other tables (set %s, not %s): each set would"+
		" have a part of the events. Give one of them a kafka.group of its own. Or, if the others are gone or have one now: stop all consumers of"+
		" this group and delete its offsets (kafka-consumer-groups.sh --delete --group %s), and counting goes on where these tables say",
		group, p.Number, p.Topic, at.offset, at.tables, tables, group)}
}

// isRefusal tells whether an operator has to decide.
func isRefusal(err error) bool {
	var refused *refusal
	return errors.As(err, &refused)
}
