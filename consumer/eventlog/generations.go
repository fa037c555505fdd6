package eventlog

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"footfall/consumer/store"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// Source is one generation of a topic that events are counted from.
type Source struct {
	Topic   string
	Inspect Inspector
	Seal    *Seal   // nil: it still grows
	Before  *Source // the generation before it; nil if it is the first
	Gone    bool    // the topic was deleted, after all of it had been counted
}

// Sources are the generations that there are, by topic. Whoever has them never changes them.
type Sources map[string]*Source

// Seal says where a generation ends for good. It is recorded once, and what lies beyond is not counted there, whoever put it.
type Seal struct {
	Ends []int64   `json:"ends"` // by partition, of which there may be more than the generation is counted with
	At   time.Time `json:"at"`
}

// Facts about a generation that are recorded beside the settings it is counted with.
const (
	FactSealed  = "sealed"
	FactCounted = "counted" // all of it, or an operator accepted what is missing
)

// Partitions is the number that the generation is counted with.
func (s *Source) Partitions() int { return len(s.Inspect.Partitions) }

// End is where a partition ends for good, if that is known.
func (s *Source) End(partition int) (int64, bool) {
	if s.Seal == nil {
		return 0, false
	}
	return s.Seal.Ends[partition], true
}

// Topics lists those that are read, in a fixed order.
func (s Sources) Topics() []string {
	var out []string
	for topic, src := range s {
		if !src.Gone {
			out = append(out, topic)
		}
	}
	slices.Sort(out)
	return out
}

// growing lists the topics that are not sealed.
func (s Sources) growing() []string {
	var out []string
	for _, topic := range s.Topics() {
		if s[topic].Seal == nil {
			out = append(out, topic)
		}
	}
	return out
}

// Newest is the generation of a base that still grows.
func (s Sources) Newest(base string) *Source {
	for _, topic := range s.growing() {
		if b, _ := models.SplitGeneration(topic); b == base {
			return s[topic]
		}
	}
	panic("no generation of " + base + " grows") // finding the sources would have failed
}

// Before lists the partitions of the generations before a topic that exist.
func (s Sources) Before(topic string) (list []models.Partition) {
	src := s[topic]
	if src == nil {
		return nil
	}
	for src = src.Before; src != nil; src = src.Before {
		if !src.Gone {
			list = append(list, src.All()...)
		}
	}
	return list
}

// All lists the partitions that are counted.
func (s *Source) All() (list []models.Partition) {
	for n := range s.Partitions() {
		list = append(list, models.Partition{Topic: s.Topic, Number: n})
	}
	return list
}

// Bases are the topics as configured, and how their messages are read.
func (l *Log) Bases() map[string]func([]byte) (models.Event, error) {
	t := l.Config.Kafka.Topics
	return map[string]func([]byte) (models.Event, error){t.Clicks: decodeClick, t.Visits: l.Plan.Decode}
}

// Sources finds the generations of both topics up to the one that still grows, and holds each against what is recorded of it. One
// that follows it is not read before it is sealed. An error about what is recorded is a *refusal.
func (l *Log) Sources(ctx context.Context) (Sources, error) {
	if err := l.CheckTopics(ctx); err != nil {
		return nil, err
	}
	out := Sources{}
	for base, decode := range l.Bases() {
		found, err := topics.Generations(ctx, l.Kafka, base)
		if err != nil {
			return nil, err
		}
		if err := l.follow(ctx, out, base, found, decode); err != nil {
			return nil, err
		}
	}
	if _, err := topics.Partitions(ctx, l.Kafka, l.Config.Kafka.Topics.Dead); err != nil {
		return nil, err
	}
	return out, nil
}

// CheckTopics refuses other topics than those that the tables are counted from.
func (l *Log) CheckTopics(ctx context.Context) error {
	t := l.Config.Kafka.Topics
	for what, base := range map[string]string{"clicks topic": t.Clicks, "visits topic": t.Visits} {
		recorded, err := l.Store.Setting(ctx, what, base)
		if err != nil {
			return err
		}
		if recorded != base {
			return Refuse("these tables are counted from topic %s, not from %s (kafka.topics): a visitor in both would be counted"+
				" twice; set it back, and use consumer grow for another number of partitions", recorded, base)
		}
	}
	return nil
}

// follow adds the generations of a base to out, the oldest first, until one is not sealed.
func (l *Log) follow(ctx context.Context, out Sources, base string, found []topics.Generation, decode func([]byte) (models.Event, error)) error {
	var last *Source
	for n := 1; n <= found[len(found)-1].Number; n++ {
		s := &Source{Topic: models.GenerationTopic(base, n), Before: last}
		i := slices.IndexFunc(found, func(g topics.Generation) bool { return g.Number == n })
		var err error
		if s.Seal, err = ReadSeal(ctx, l.Store, s.Topic); err != nil {
			return err
		}
		partitions := 0
		if i >= 0 {
			partitions = found[i].Partitions
		}
		if s.Gone, err = l.isGone(ctx, s, partitions); err != nil {
			return err
		}
		if s.Inspect, err = l.inspector(ctx, s, partitions, decode); err != nil {
			return err
		}
		out[s.Topic], last = s, s
		if s.Seal == nil {
			if newest := found[len(found)-1]; newest.Number > n {
				l.warnOfHalfGrown(s.Topic, newest)
			}
			return nil
		}
	}
	return Refuse("topic %s is sealed, but its next generation, %s, does not exist: run consumer grow --topic %s again", last.Topic,
		models.GenerationTopic(base, found[len(found)-1].Number+1), base)
}

// isGone tells whether a generation need not be read since it was deleted, or is another one that was made under its name. It has so many
// partitions now; 0: it does not exist.
func (l *Log) isGone(ctx context.Context, s *Source, partitions int) (bool, error) {
	counted, err := l.Store.Setting(ctx, Fact(s.Topic, FactCounted), "")
	if err != nil {
		return false, err
	}
	missing := partitions == 0
	if missing && counted == "" {
		if l.Accepting && s.Seal != nil {
			return true, nil
		}
		return false, Refuse("topic %s does not exist, and nobody has counted all of it: its events would be missing. Put it back with its"+
			" offsets. %s", s.Topic, howToAccept)
	}
	if missing || counted == "" {
		return missing, nil
	}
	same, err := l.sameTopic(ctx, s, partitions)
	if err == nil && !same {
		l.Logger.Warn("all of this topic was counted, and it is now another one under the same name: it is left alone, and can be deleted",
			"topic", s.Topic)
	}
	return !same, err
}

// sameTopic tells whether a generation that was counted to its seal can still be the one that was counted.
func (l *Log) sameTopic(ctx context.Context, s *Source, partitions int) (bool, error) {
	if partitions < len(s.Seal.Ends) {
		return false, nil
	}
	ends, err := topics.Ends(ctx, l.Kafka, s.Topic, len(s.Seal.Ends))
	if err != nil {
		return false, err
	}
	for n, end := range s.Seal.Ends {
		if ends[n] < end {
			return false, nil
		}
		p := models.Partition{Topic: s.Topic, Number: n}
		known, err := l.Store.Tail(ctx, p)
		if err != nil {
			return false, err
		}
		if known.Sum == "" {
			continue
		}
		found, err := SumAt(ctx, l.Kafka, p, known.Offset-1)
		if err != nil || found != "" && found != known.Sum {
			return false, err
		}
	}
	return true, nil
}

// inspector makes the inspector of a generation, by the number of partitions and the rule that it is counted with.
func (l *Log) inspector(ctx context.Context, s *Source, partitions int, decode func([]byte) (models.Event, error)) (Inspector, error) {
	byID, err := DuplicatesByID(ctx, l.Store, s.Topic) // before the other facts are recorded, by which it tells that there were none
	if err != nil {
		return Inspector{}, err
	}
	if byID && !s.Gone {
		l.Logger.Warn("this topic was first counted when an id had to be unique among all senders, and stays so: of two that use the"+
			" same id one may not be counted; its next generation (consumer grow) tells them apart", "topic", s.Topic)
	}
	first := "" // nobody records how many there are when it is too late
	if s.Seal == nil {
		first = strconv.Itoa(partitions)
	}
	counted, err := l.Store.Setting(ctx, Fact(s.Topic, "partitions"), first)
	if err != nil {
		return Inspector{}, err
	}
	n, err := strconv.Atoi(counted)
	if err != nil {
		return Inspector{}, fmt.Errorf("topic %s is recorded with %q partitions: %w", s.Topic, counted, err)
	}
	if s.Seal == nil && n != partitions {
		return Inspector{}, OtherPartitions(s.Topic, n, partitions)
	}
	if !s.Gone {
		if err := l.checkSettings(ctx, s.Topic); err != nil {
			return Inspector{}, err
		}
	}
	in := NewInspector(decode, n)
	in.byID = byID
	if s.Seal != nil {
		in.physical = PartitionNumbers(len(s.Seal.Ends))
	}
	return in, nil
}

// ReadSeal reads where a topic was sealed; nil if it was not.
func ReadSeal(ctx context.Context, store store.Store, topic string) (*Seal, error) {
	text, err := store.Setting(ctx, Fact(topic, FactSealed), "")
	if err != nil || text == "" {
		return nil, err
	}
	s := &Seal{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("reading where topic %s was sealed: %w", topic, err)
	}
	return s, nil
}

// Counts tells whether the partition is read and its events are counted: those that somebody added are carried over instead.
func (s Sources) Counts(p models.Partition) bool {
	src, known := s[p.Topic]
	return known && !src.Gone && p.Number < src.Partitions()
}
