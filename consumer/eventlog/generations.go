package eventlog

import (
	"context"
	"encoding/json"
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
	Seal    *Seal   // nil: it is not sealed, producers still write to it
	Before  *Source // the generation before it; nil if it is the first
	Gone    bool    // the topic was deleted, after all of it had been counted
}

// Sources are the generations by topic. They are immutable once found, and so safe for concurrent use.
type Sources map[string]*Source

// Seal says where a generation ends for good. It is recorded once. Messages beyond it are never counted from this generation.
type Seal struct {
	Ends []int64   `json:"ends"` // by partition, including partitions that somebody added and that are not counted
	At   time.Time `json:"at"`
}

// Facts about a generation, recorded beside its settings.
const (
	FactSealed  = "sealed"
	FactCounted = "counted" // all of it is counted, or an operator accepted what is missing
)

// Partitions is the number of partitions that the generation is counted with.
func (s *Source) Partitions() int { return len(s.Inspect.Partitions) }

// End is the offset where a partition ends for good, if the generation is sealed.
func (s *Source) End(partition int) (int64, bool) {
	if s.Seal == nil {
		return 0, false
	}
	return s.Seal.Ends[partition], true
}

// Topics lists the topics that are read, sorted.
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
	return slices.DeleteFunc(s.Topics(), func(topic string) bool { return s[topic].Seal != nil })
}

// Newest is the generation of a base that is not sealed.
func (s Sources) Newest(base string) *Source {
	for _, topic := range s.growing() {
		if b, _ := models.SplitGeneration(topic); b == base {
			return s[topic]
		}
	}
	panic("no unsealed generation of topic " + base) // Log.Sources would have failed
}

// Before lists the partitions of the generations before a topic, without deleted ones.
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

// All lists the generation's counted partitions.
func (s *Source) All() (list []models.Partition) {
	for n := range s.Partitions() {
		list = append(list, models.Partition{Topic: s.Topic, Number: n})
	}
	return list
}

// Bases are the topics as configured, and the decoder of each.
func (l *Log) Bases() map[string]func([]byte) (models.Event, error) {
	t := l.Config.Kafka.Topics
	return map[string]func([]byte) (models.Event, error){t.Clicks: l.Plan.DecodeClick, t.Visits: l.Plan.DecodeVisit}
}

// Sources finds the generations of both topics up to the first unsealed one, and compares each with what the store records of it. A
// generation that differs from the record is a *Refusal.
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

// CheckTopics returns a *Refusal if the configured topics are not those that the tables are counted from.
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

// follow adds the generations of a base to out, the oldest first, up to the first unsealed one.
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

// isGone tells whether a counted generation was deleted, or replaced by another topic of its name, and so is not read. partitions is how
// many Kafka says it has; 0: the topic does not exist.
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
		return false, Refuse("topic %s does not exist, but not all of its events are counted. Restore it with its offsets. %s", s.Topic,
			howToAccept)
	}
	if missing || counted == "" {
		return missing, nil
	}
	same, err := l.sameTopic(ctx, s, partitions)
	if err == nil && !same {
		l.Logger.Warn("a topic of which all events were counted was replaced by another of the same name: the consumer ignores it; you may"+
			" delete it", "topic", s.Topic)
	}
	return !same, err
}

// sameTopic tells whether a topic can still be the generation that was counted to its seal: it reaches as far, and the last messages
// have the same fingerprints.
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

// inspector makes the inspector of a generation, with the number of partitions that the store records.
func (l *Log) inspector(ctx context.Context, s *Source, partitions int, decode func([]byte) (models.Event, error)) (Inspector, error) {
	first := "" // a sealed generation's number is read, never recorded
	if s.Seal == nil {
		first = strconv.Itoa(partitions)
	}
	counted, err := l.Store.Setting(ctx, Fact(s.Topic, "partitions"), first)
	if err != nil {
		return Inspector{}, err
	}
	n, err := strconv.Atoi(counted)
	if err != nil {
		return Inspector{}, Refuse("reading the recorded number of partitions of topic %s, %q: %v", s.Topic, counted, err)
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
	if s.Seal != nil {
		in.physical = PartitionNumbers(len(s.Seal.Ends))
	}
	return in, nil
}

// ReadSeal reads a topic's seal from the store; nil if it is not sealed.
func ReadSeal(ctx context.Context, store store.Store, topic string) (*Seal, error) {
	text, err := store.Setting(ctx, Fact(topic, FactSealed), "")
	if err != nil || text == "" {
		return nil, err
	}
	s := &Seal{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, Refuse("reading where topic %s was sealed: %v", topic, err)
	}
	return s, nil
}

// Counts tells whether the partition is read and counted. Partitions that somebody added are not: their events are carried over.
func (s Sources) Counts(p models.Partition) bool {
	src, known := s[p.Topic]
	return known && !src.Gone && p.Number < src.Partitions()
}
