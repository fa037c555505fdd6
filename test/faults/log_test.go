package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/segmentio/kafka-go"

	"footfall/models"
	"footfall/models/modelstest"
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

// message is a click or a visit, with all that counters depend on.
type message struct {
	V        int
	ID       string
	ShortURL string `json:"short_url"`
	IP       string
	Country  string
	Referrer string
	Browser  string
	System   string
	Device   string
	Bot      bool
	Amount   *int64
	SiteID   string `json:"siteId"`
	GUID     string
	Feature1 string
	Feature2 string
	TS       int64
}

// Of every field on which counters depend, the oracle gets the value.
func TestMessagesHaveEveryCountedField(t *testing.T) {
	for _, f := range slices.Concat(models.ClickFields, models.DefaultPlan().Fields()) {
		var e message
		if err := json.Unmarshal(modelstest.Message([]models.Field{f}), &e); err != nil || f.Counted && e == (message{}) {
			t.Errorf("%s is not read: %v", f.Name, err)
		}
	}
}

// add gives a message to the oracle unless it is a duplicate.
func (r *reading) add(m kafka.Message, last map[identity]int64) error {
	var e message
	if err := json.Unmarshal(m.Value, &e); err != nil || e.V != 1 || e.ID == "" {
		return fmt.Errorf("%s is no event: %q", broker.Origin(m.Topic, m.Partition, m.Offset), m.Value)
	}
	r.events++
	r.ids[e.ID] = true
	same := identity{string(m.Key), e.ID}
	before, seen := last[same]
	last[same] = m.Offset
	if seen && before >= m.Offset-window {
		r.duplicates++
		if before < 0 {
			r.across++
		}
		return nil
	}
	// The oracle would drop every repeated id, also outside the window. Duplicates are decided above, so each event gets an id of its own.
	place := broker.Origin(m.Topic, m.Partition, m.Offset)
	if strings.Contains(m.Topic, "-clicks") {
		r.oracle.Click(&models.Click{
			ID: place, ShortURL: e.ShortURL, IP: e.IP, Country: e.Country, Referrer: e.Referrer, Bot: e.Bot, Amount: e.Amount, TS: models.Millis(e.TS),
		})
	} else {
		r.oracle.Visit(&models.Visit{
			ID: place, SiteID: e.SiteID, GUID: e.GUID, TS: models.Millis(e.TS), Features: []string{e.Feature1, e.Feature2},
		})
	}
	return nil
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
