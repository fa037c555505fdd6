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
func tenants(o *ownership, clicks int, links ...string) *chunk {
	c, offset := newChunk(false), int64(0)
	for _, link := range links {
		for id := range clicks {
			event := &models.Click{V: 1, ID: fmt.Sprint(id), ShortURL: link, IP: "::1", TS: models.Earliest}
			o.add(c, eventlog.Item{Partition: p0, Offset: offset, Event: event})
			offset++
		}
	}
	return c
}

// Two links with the same ids lose no clicks, and nobody can suppress a link's clicks by sending their ids first.
func TestTenantsMayUseTheSameIDs(t *testing.T) {
	f := func(links []string, want ...int64) {
		t.Helper()
		m := memstore.New()
		o := newOwner(t, m, 100)
		o.partitions[p0].window = eventlog.NewWindow(eventlog.Reach{Offsets: 10_000, Age: time.Hour}, 0)
		flush(t, o, tenants(o, 600, links...))
		for i, link := range links {
			if got := m.Counters[models.Key{Keyspace: models.URLShortener, Name: link}][hit]; got != want[i] {
				t.Errorf("link %s has %d clicks, want %d", link, got, want[i])
			}
		}
	}
	f([]string{"hostile", "good", "third"}, 600, 600, 600)
	f([]string{"a|b", "a"}, 600, 600)
}

// Two visitors with the same Kafka key are still two.
func TestIdentityIsNotTheKafkaKey(t *testing.T) {
	a := &models.Visit{ID: "1", SiteID: "a|b", GUID: "c"}
	b := &models.Visit{ID: "1", SiteID: "a", GUID: "b|c"}
	if a.KafkaKey() != b.KafkaKey() || a.Identity() == b.Identity() {
		t.Errorf("keys %q and %q, identities %v and %v", a.KafkaKey(), b.KafkaKey(), a.Identity(), b.Identity())
	}
}

func BenchmarkIdentity(b *testing.B) {
	h := eventlog.NewHasher()
	it := eventlog.Item{Event: &models.Click{ID: "6f1a6a52-5a2f-4f0a-9c3e-0d2f3c1b7a11", ShortURL: "summer-sale", IP: "2001:db8::17"}}
	b.ReportAllocs()
	for b.Loop() {
		eventlog.FingerprintOf(h, it.Event.Identity())
	}
}
