package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"

	"footfall/models"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/oracle"
)

// reading is what was read of the log up to its ends, and what the tables must hold.
type reading struct {
	ends       map[broker.Partition]int64
	events     int64 // messages, without poison
	duplicates int64 // of those, the ones that must not be counted
	across     int64 // duplicates whose first copy was sent before the topic grew
	dead       int64 // messages of litter
	ids        map[string]bool
	oracle     *oracle.Oracle
}

// window is the default of duplicates.window: an id counts once within so many offsets of its partition.
const window = 100_000

// read reads all topics of events from the first offset to their ends. It uses no code of the product to tell events from others: it
// knows the messages that the test spoilt, and every other one must be an event.
func (w *world) read(ctx context.Context) (*reading, error) {
	ends, err := w.Ends(ctx, w.Topics...)
	if err != nil {
		return nil, err
	}
	if w.last != nil && maps.Equal(w.last.ends, ends) {
		return w.last, nil
	}
	r := &reading{ends: ends, ids: map[string]bool{}, oracle: oracle.New()}
	earlier := map[string]map[identity]int64{} // by topic: its last offset, counted back from the end of its partition
	for _, p := range inOrder(ends) {
		last, end := map[identity]int64{}, ends[p] // last offset of each
		if before, grown := strings.CutSuffix(p.Topic, "-g2"); grown {
			maps.Copy(last, earlier[before])
		}
		err := w.Read(ctx, p, end, func(m kafka.Message) error {
			if w.poison[broker.Origin(m.Topic, m.Partition, m.Offset)] {
				return nil
			}
			if string(m.Value) == litter {
				r.dead++
				return nil
			}
			return r.add(m, last)
		})
		if err != nil {
			return nil, err
		}
		if earlier[p.Topic] == nil {
			earlier[p.Topic] = map[identity]int64{}
		}
		for same, offset := range last {
			earlier[p.Topic][same] = offset - end
		}
	}
	w.last = r
	return r, nil
}

// inOrder lists the partitions, earlier generations of a topic first.
func inOrder(ends map[broker.Partition]int64) []broker.Partition {
	return slices.SortedFunc(maps.Keys(ends), func(a, b broker.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
	})
}

// identity is what two copies of an event share: the visitor, which is Kafka's key, and the id.
type identity struct{ key, id string }

// add gives a message to the oracle unless it is a duplicate.
func (r *reading) add(m kafka.Message, last map[identity]int64) error {
	// The oracle would drop every repeated id, also outside the window. Duplicates are decided here, so each event gets an id of its own.
	place := broker.Origin(m.Topic, m.Partition, m.Offset)
	version, id, count, err := r.event(m, place)
	if err != nil {
		return fmt.Errorf("%s is no event: %q: %w", place, m.Value, err)
	}
	if version != 1 || id == "" {
		return fmt.Errorf("%s is no event: %q", place, m.Value)
	}
	r.events++
	r.ids[id] = true
	same := identity{string(m.Key), id}
	before, seen := last[same]
	last[same] = m.Offset
	if seen && before >= m.Offset-window {
		r.duplicates++
		if before < 0 {
			r.across++
		}
		return nil
	}
	count()
	return nil
}

// event reads an event by encoding/json, so without the product's codec, and returns what gives it to the oracle under another id.
func (r *reading) event(m kafka.Message, as string) (version int, id string, count func(), err error) {
	if strings.Contains(m.Topic, "-clicks") {
		c := &models.Click{}
		err = json.Unmarshal(m.Value, c)
		id, c.ID = c.ID, as
		return c.V, id, func() { r.oracle.Click(c) }, err
	}
	v := struct {
		models.Visit
		Feature1, Feature2 string
	}{}
	err = json.Unmarshal(m.Value, &v)
	v.Features = []string{v.Feature1, v.Feature2}
	id, v.ID = v.ID, as
	return v.V, id, func() { r.oracle.Visit(&v.Visit) }, err
}

// missing lists events that the producer answered with 202 and that are not in the log.
func (w *world) missing(r *reading) (out []string) {
	for _, tr := range w.sent {
		for i, e := range tr.events {
			if tr.result.Accepted[i] && !r.ids[e.ID()] {
				out = append(out, e.ID())
			}
		}
	}
	return out
}
