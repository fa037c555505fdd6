package cassandra

import (
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/models"
)

func TestSecondsLeft(t *testing.T) {
	const day = 24 * time.Hour
	hash := ":" + strings.Repeat("ab", 24)
	now := time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)
	for name, want := range map[string]time.Duration{
		"203.0.113.7": 0, strings.Repeat("ab", 32): 0, "2001:db8::1": 0,
		"2026-11" + hash: 15*day + 10*day, "2026-11-16" + hash: day + 10*day, "2026-11-17" + hash: 2*day + 10*day, "2026-12" + hash: 46*day + 10*day,
		"2026-11-15" + hash: 10 * day, "2026-10" + hash: 10 * day, "2018-10" + hash: 10 * day, // late
		"2027-11" + hash: 0, "9999-12" + hash: 0,
	} {
		if want > 0 {
			want += time.Second
		}
		if got := secondsLeft(name, 10*day, now); got != int(want/time.Second) {
			t.Errorf("the row of %s stays for %d s, want %v", name, got, want)
		}
	}
}

// Rows of names with a period expire. Rows of addresses and of hashes without a period stay.
func testExpiry(t *testing.T, s *Store) {
	now, position := time.Now().UTC(), models.Position{Topic: "clicks", Partition: 1, Offset: 7}
	month := models.PeriodName(now.Format(models.Monthly), make([]byte, 32))
	end, _ := models.PeriodEnd(month)
	defer s.ExpireIPs(0)
	f := func(link string, ttl time.Duration, want map[string]time.Duration) {
		t.Helper()
		s.ExpireIPs(ttl)
		var sightings []models.Sighting
		for ip := range want {
			sightings = append(sightings, models.Sighting{Keyspace: models.URLShortener, Name: link, Visitor: ip})
		}
		if err := s.Remember(t.Context(), sightings, slices.Repeat([]models.Position{position}, len(sightings))); err != nil {
			t.Fatal(err)
		}
		found, err := s.FirstSeen(t.Context(), sightings)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range found {
			if at != position {
				t.Errorf("%+v was first at %+v", sightings[i], at)
			}
		}
		for ip, want := range want {
			var left *int // none: for ever
			err := s.session.Query(`SELECT TTL(kafka_offset) FROM `+s.names.URLShortener+`.uniquecounterips WHERE short_url = ? AND ip = ?`, link, ip).Scan(&left)
			if err != nil {
				t.Fatal(err)
			}
			if (left == nil) != (want == 0) || left != nil && (time.Duration(*left)*time.Second-want).Abs() > time.Minute {
				t.Errorf("the row of %s goes in %v s, want %v", ip, left, want)
			}
		}
	}
	stays := strings.Repeat("ab", 32)
	f("expiry-1", 0, map[string]time.Duration{"203.0.113.7": 0, stays: 0, month: 0})
	f("expiry-2", 48*time.Hour, map[string]time.Duration{"203.0.113.7": 0, stays: 0, month: time.Until(end.Add(48 * time.Hour))})
}
