package rollup

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

// source is one generation of a topic that events are counted from.
type source struct {
	topic   string
	inspect inspector
	seal    *seal   // nil: it still grows
	before  *source // the generation before it; nil if it is the first
	gone    bool    // the topic was deleted, after all of it had been counted
}

// sources are the generations that there are, by topic. Whoever has them never changes them.
type sources map[string]*source

// seal says where a generation ends for good. It is recorded once, and what lies beyond is not counted there, whoever put it.
type seal struct {
	Ends []int64   `json:"ends"` // by partition, of which there may be more than the generation is counted with
	At   time.Time `json:"at"`
}

// Facts about a generation that are recorded beside the settings it is counted with.
const (
	factSealed  = "sealed"
	factCounted = "counted" // all of it, and of those before it
)

// partitions is the number that the generation is counted with.
func (s *source) partitions() int { return len(s.inspect.partitions) }

// end is where a partition ends for good, if that is known.
func (s *source) end(partition int) (int64, bool) {
	if s.seal == nil {
		return 0, false
	}
	return s.seal.Ends[partition], true
}

// topics lists those that are read, in a fixed order.
func (s sources) topics() []string {
	var out []string
	for topic, src := range s {
		if !src.gone {
			out = append(out, topic)
		}
	}
	slices.Sort(out)
	return out
}

// growing lists the topics that are not sealed.
func (s sources) growing() []string {
	var out []string
	for _, topic := range s.topics() {
		if s[topic].seal == nil {
			out = append(out, topic)
		}
	}
	return out
}

// newest is the generation of a base that still grows.
func (s sources) newest(base string) *source {
	for _, topic := range s.growing() {
		if b, _ := models.SplitGeneration(topic); b == base {
			return s[topic]
		}
	}
	panic("no generation of " + base + " grows") // finding the sources would have failed
}

// before lists the partitions of the generations before a topic that exist.
func (s sources) before(topic string) (list []models.Partition) {
	src := s[topic]
	if src == nil {
		return nil
	}
	for src = src.before; src != nil; src = src.before {
		if !src.gone {
			list = append(list, src.all()...)
		}
	}
	return list
}

// all lists the partitions that are counted.
func (s *source) all() (list []models.Partition) {
	for n := range s.partitions() {
		list = append(list, models.Partition{Topic: s.topic, Number: n})
	}
	return list
}

// bases are the topics as configured, and how their messages are read.
func (c *Consumer) bases() map[string]func([]byte) (models.Event, error) {
	t := c.cfg.Kafka.Topics
	return map[string]func([]byte) (models.Event, error){t.Clicks: decodeClick, t.Visits: c.plan.Decode}
}

// sources finds the generations of both topics up to the one that still grows, and holds each against what is recorded of it. One
// that follows it is not read before it is sealed. An error about what is recorded is a *refusal.
func (c *Consumer) sources(ctx context.Context) (sources, error) {
	if err := c.sameBases(ctx); err != nil {
		return nil, err
	}
	out := sources{}
	for base, decode := range c.bases() {
		found, err := topics.Generations(ctx, c.kafka, base)
		if err != nil {
			return nil, err
		}
		if err := c.follow(ctx, out, base, found, decode); err != nil {
			return nil, err
		}
	}
	if _, err := topics.Partitions(ctx, c.kafka, c.cfg.Kafka.Topics.Dead); err != nil {
		return nil, err
	}
	return out, nil
}

// sameBases refuses other topics than those that the tables are counted from.
func (c *Consumer) sameBases(ctx context.Context) error {
	t := c.cfg.Kafka.Topics
	for what, base := range map[string]string{"clicks topic": t.Clicks, "visits topic": t.Visits} {
		recorded, err := c.store.Setting(ctx, what, base)
		if err != nil {
			return err
		}
		if recorded != base {
			return &refusal{fmt.Sprintf("these tables are counted from topic %s, not from %s (kafka.topics): a visitor in both would be counted"+
				" twice; set it back, and use consumer grow for another number of partitions", recorded, base)}
		}
	}
	return nil
}

// follow adds the generations of a base to out, the oldest first, until one is not sealed.
func (c *Consumer) follow(ctx context.Context, out sources, base string, found []topics.Generation, decode func([]byte) (models.Event, error)) error {
	var last *source
	for n := 1; n <= found[len(found)-1].Number; n++ {
		s := &source{topic: models.GenerationTopic(base, n), before: last}
		i := slices.IndexFunc(found, func(g topics.Generation) bool { return g.Number == n })
		var err error
		if s.seal, err = readSeal(ctx, c.store, s.topic); err != nil {
			return err
		}
		partitions := 0
		if i >= 0 {
			partitions = found[i].Partitions
		}
		if s.gone, err = c.isGone(ctx, s, partitions); err != nil {
			return err
		}
		if s.inspect, err = c.inspector(ctx, s, partitions, decode); err != nil {
			return err
		}
		out[s.topic], last = s, s
		if s.seal == nil {
			if newest := found[len(found)-1]; newest.Number > n {
				c.warnOfHalfGrown(s.topic, newest)
			}
			return nil
		}
	}
	return &refusal{fmt.Sprintf("topic %s is sealed, but its next generation, %s, does not exist: run consumer grow --topic %s again", last.topic,
		models.GenerationTopic(base, found[len(found)-1].Number+1), base)}
}

// isGone tells whether a generation need not be read since it was deleted, or is another one that was made under its name. It has so many
// partitions now; 0: it does not exist.
func (c *Consumer) isGone(ctx context.Context, s *source, partitions int) (bool, error) {
	counted, err := c.store.Setting(ctx, fact(s.topic, factCounted), "")
	if err != nil {
		return false, err
	}
	missing := partitions == 0
	if missing && counted == "" {
		if c.accepting && s.seal != nil {
			return true, nil
		}
		return false, &refusal{fmt.Sprintf("topic %s does not exist, and nobody has counted all of it: its events would be missing. Put it back with its"+
			" offsets. %s", s.topic, howToAccept)}
	}
	if missing || counted == "" {
		return missing, nil
	}
	same, err := c.sameTopic(ctx, s, partitions)
	if err == nil && !same {
		c.log.Warn("all of this topic was counted, and it is now another one under the same name: it is left alone, and can be deleted",
			"topic", s.topic)
	}
	return !same, err
}

// sameTopic tells whether a generation that was counted to its seal can still be the one that was counted.
func (c *Consumer) sameTopic(ctx context.Context, s *source, partitions int) (bool, error) {
	if partitions < len(s.seal.Ends) {
		return false, nil
	}
	ends, err := topics.Ends(ctx, c.kafka, s.topic, len(s.seal.Ends))
	if err != nil {
		return false, err
	}
	for n, end := range s.seal.Ends {
		if ends[n] < end {
			return false, nil
		}
		p := models.Partition{Topic: s.topic, Number: n}
		known, err := c.store.Tail(ctx, p)
		if err != nil {
			return false, err
		}
		if known.Sum == "" {
			continue
		}
		found, err := sumAt(ctx, c.kafka, p, known.Offset-1)
		if err != nil || found != "" && found != known.Sum {
			return false, err
		}
	}
	return true, nil
}

// inspector makes the inspector of a generation, by the number of partitions and the rule that it is counted with.
func (c *Consumer) inspector(ctx context.Context, s *source, partitions int, decode func([]byte) (models.Event, error)) (inspector, error) {
	byID, err := countedByID(ctx, c.store, s.topic) // before the other facts are recorded, by which it tells that there were none
	if err != nil {
		return inspector{}, err
	}
	if byID && !s.gone {
		c.log.Warn("this topic was first counted when an id had to be unique among all senders, and stays so: of two that use the"+
			" same id one may not be counted; its next generation (consumer grow) tells them apart", "topic", s.topic)
	}
	first := "" // nobody records how many there are when it is too late
	if s.seal == nil {
		first = strconv.Itoa(partitions)
	}
	counted, err := c.store.Setting(ctx, fact(s.topic, "partitions"), first)
	if err != nil {
		return inspector{}, err
	}
	n, err := strconv.Atoi(counted)
	if err != nil {
		return inspector{}, fmt.Errorf("topic %s is recorded with %q partitions: %w", s.topic, counted, err)
	}
	if s.seal == nil && n != partitions {
		return inspector{}, otherPartitions(s.topic, n, partitions)
	}
	if !s.gone {
		if err := c.settled(ctx, s.topic); err != nil {
			return inspector{}, err
		}
	}
	in := newInspector(decode, n)
	in.byID = byID
	if s.seal != nil {
		in.physical = numbers(len(s.seal.Ends))
	}
	return in, nil
}

// otherPartitions is the refusal of a topic that has another number of partitions than it was counted with.
func otherPartitions(topic string, counted, now int) error {
	if now < counted {
		return &refusal{fmt.Sprintf("topic %s has partitions %d, but was counted with %d so far. Kafka takes none away: was the topic created"+
			" anew? "+countAnew, topic, now, counted)}
	}
	base, _ := models.SplitGeneration(topic)
	return &refusal{fmt.Sprintf("topic %s has partitions %d, but was counted with %d so far, and must be to the end, since a visitor's events"+
		" have to be in one partition: run consumer grow --topic %s --partitions %d (or any other number), which loses nothing",
		topic, now, counted, base, now)}
}

// readSeal reads where a topic was sealed; nil if it was not.
func readSeal(ctx context.Context, store store.Store, topic string) (*seal, error) {
	text, err := store.Setting(ctx, fact(topic, factSealed), "")
	if err != nil || text == "" {
		return nil, err
	}
	s := &seal{}
	if err := json.Unmarshal([]byte(text), s); err != nil {
		return nil, fmt.Errorf("reading where topic %s was sealed: %w", topic, err)
	}
	return s, nil
}
