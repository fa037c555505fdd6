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

// reading is the log as it was read, up to its ends, and what the tables must hold accordingly.
type reading struct {
	ends       map[broker.Partition]int64
	events     int64 // messages, without poison
	duplicates int64 // of those, not to be counted
	across     int64 // of those, sent before the topic grew
	dead       int64 // messages that are no events and came with the traffic
	ids        map[string]bool
	oracle     *oracle.Oracle
}

// window is the product's default of duplicates.window: an id counts once within so many offsets of its partition.
const window = 100_000

// read reads all topics of events from the first offset to their ends. What it makes of a message it decides by itself: it
// knows which ones the test spoilt, and every other one must be an event.
func (w *world) read(ctx context.Context) (*reading, error) {
	ends, err := w.Ends(ctx, w.Topics...)
	if err != nil {
		return nil, err
	}
	if w.last != nil && maps.Equal(w.last.ends, ends) {
		return w.last, nil
	}
	r := &reading{ends: ends, ids: map[string]bool{}, oracle: oracle.New()}
	earlier := map[string]map[identity]int64{} // by topic: where it was last, counted from the end of its partition
	for _, p := range inOrder(ends) {
		last, end := map[identity]int64{}, ends[p] // where it was last
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

// inOrder lists partitions, those of earlier generations first.
func inOrder(ends map[broker.Partition]int64) []broker.Partition {
	return slices.SortedFunc(maps.Keys(ends), func(a, b broker.Partition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Number, b.Number))
	})
}

// identity is what events that were sent twice have in common: the visitor, as Kafka's key says, and the id.
type identity struct{ key, id string }

// add tells the oracle of a message, unless its visitor sent its id before.
func (r *reading) add(m kafka.Message, last map[identity]int64) error {
	var e struct {
		V        int
		ID       string
		ShortURL string `json:"short_url"`
		IP       string
		Country  string
		Referrer string
		Bot      bool
		Amount   *int64
		SiteID   string `json:"siteId"`
		GUID     string
		Feature1 string
		Feature2 string
		TS       int64
	}
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
	// The oracle has a rule of its own for duplicates; here the log's has decided, so every event gets a name of its own.
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

// missing lists events that the door answered with 202 and that are not in the log.
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
