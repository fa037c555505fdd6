package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/segmentio/kafka-go"

	"footfall/deployments/e2e/broker"
	"footfall/deployments/e2e/oracle"
	"footfall/models"
)

// reading is the log as it was read, up to its ends, and what the tables must hold accordingly.
type reading struct {
	ends       map[broker.Partition]int64
	events     int64 // messages, without poison
	duplicates int64 // of those, not to be counted
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
	for p, end := range ends {
		last := map[identity]int64{} // where it was last
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
	}
	w.last = r
	return r, nil
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
		return nil
	}
	// The oracle has a rule of its own for duplicates; here the log's has decided, so every event gets a name of its own.
	place := broker.Origin(m.Topic, m.Partition, m.Offset)
	if strings.HasSuffix(m.Topic, "-clicks") {
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
