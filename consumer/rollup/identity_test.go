package rollup

import (
	"fmt"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// tenants makes a chunk with so many clicks on each of the links, one link after the other. Each link numbers its ids from 0, and
// all clicks have one IP.
func tenants(o *ownership, byID bool, clicks int, links ...string) *chunk {
	c, offset := newChunk(false), int64(0)
	for _, link := range links {
		for id := range clicks {
			event := &models.Click{V: 1, ID: fmt.Sprint(id), ShortURL: link, IP: "::1", TS: models.Earliest}
			o.add(c, eventlog.Item{Partition: p0, Offset: offset, Event: event, ByID: byID})
			offset++
		}
	}
	return c
}

// Two links with the same ids lose no clicks, and nobody can suppress a link's clicks by sending their ids first.
func TestTenantsMayUseTheSameIDs(t *testing.T) {
	f := func(byID bool, links []string, want ...int64) {
		t.Helper()
		m := memstore.New()
		o := newOwner(t, m, 100)
		o.partitions[p0].window = eventlog.NewWindow(eventlog.Reach{Offsets: 10_000, Age: time.Hour}, 0)
		flush(t, o, tenants(o, byID, 600, links...))
		for i, link := range links {
			if got := m.Counters[models.Key{Keyspace: models.URLShortener, Name: link}][hit]; got != want[i] {
				t.Errorf("by id alone %v: link %s has %d clicks, want %d", byID, link, got, want[i])
			}
		}
	}
	f(false, []string{"hostile", "good", "third"}, 600, 600, 600)
	f(false, []string{"a|b", "a"}, 600, 600)
	f(true, []string{"hostile", "good"}, 600, 0) // topics that were counted by the older rule keep it
}

// Two visitors with the same Kafka key are still two.
func TestIdentityIsNotTheKafkaKey(t *testing.T) {
	a := &models.Visit{ID: "1", SiteID: "a|b", GUID: "c"}
	b := &models.Visit{ID: "1", SiteID: "a", GUID: "b|c"}
	if a.KafkaKey() != b.KafkaKey() || a.Identity() == b.Identity() {
		t.Errorf("keys %q and %q, identities %v and %v", a.KafkaKey(), b.KafkaKey(), a.Identity(), b.Identity())
	}
}

// A topic's rule is recorded when it is first counted. A topic that an older version counted keeps the rule of ids alone.
func TestDuplicateRule(t *testing.T) {
	f := func(recorded map[string]string, want string) {
		t.Helper()
		m := memstore.New()
		for name, value := range recorded {
			m.Settings[name] = value
		}
		for range 2 {
			byID, err := eventlog.DuplicatesByID(t.Context(), m, "t")
			if got := m.Settings["topic t: duplicates.by"]; err != nil || byID != (want == "id") || got != want {
				t.Errorf("with %v: by id %v, recorded %q, %v; want %q", recorded, byID, got, err, want)
			}
			m.Settings["topic t: partitions"] = "6" // what a consumer records next
		}
	}
	f(nil, "visitor and id")
	f(map[string]string{"topic t: partitions": "6"}, "id")
	f(map[string]string{"topic u: partitions": "6"}, "visitor and id")
	f(map[string]string{"topic t: partitions": "6", "topic t: duplicates.by": "visitor and id"}, "visitor and id")
	f(map[string]string{"topic t: duplicates.by": "id"}, "id")

	m := memstore.New()
	m.Settings["topic t: duplicates.by"] = "colour"
	if _, err := eventlog.DuplicatesByID(t.Context(), m, "t"); err == nil {
		t.Error("an unknown rule is accepted")
	}
}

// A second set of tables takes over the first one's rule of duplicates, or the two would differ.
func TestRebuildTakesOverTheRule(t *testing.T) {
	f := func(live, fresh, want string, refused bool) {
		t.Helper()
		first, second := memstore.New(), memstore.New()
		first.Settings["topic t: partitions"] = "6"
		if live != "" {
			first.Settings["topic t: duplicates.by"] = live
		}
		if fresh != "" {
			second.Settings["topic t: duplicates.by"] = fresh
		}
		err := eventlog.CopyRule(t.Context(), first, second, "t")
		if got := second.Settings["topic t: duplicates.by"]; got != want || (err != nil) != refused {
			t.Errorf("%q in use, %q in the others: %q, %v; want %q", live, fresh, got, err, want)
		}
	}
	f("", "", "id", false)
	f("id", "id", "id", false)
	f("visitor and id", "", "visitor and id", false)
	f("id", "visitor and id", "visitor and id", true)
}

func BenchmarkIdentity(b *testing.B) {
	h := eventlog.NewHasher()
	it := eventlog.Item{Event: &models.Click{ID: "6f1a6a52-5a2f-4f0a-9c3e-0d2f3c1b7a11", ShortURL: "summer-sale", IP: "2001:db8::17"}}
	for _, it.ByID = range []bool{false, true} {
		b.Run(fmt.Sprint("byID=", it.ByID), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				eventlog.FingerprintOf(h, it.Identity())
			}
		})
	}
}
