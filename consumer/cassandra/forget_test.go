package cassandra

import (
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/models"
)

// rememberAt is Remember with a write timestamp of the test's choice.
func rememberAt(t *testing.T, s *Store, click models.Sighting, at models.Position, clock time.Time) {
	t.Helper()
	batch := s.session.NewBatch(gocql.UnloggedBatch).WithContext(t.Context()).WithTimestamp(clock.UnixMicro())
	batch.Query(s.cql.remember, click.Name, click.Visitor, at.Topic, at.Partition, at.Offset)
	if err := s.session.ExecuteBatch(batch); err != nil {
		t.Fatal(err)
	}
}

// rememberFirstAt is RememberFirsts with a write timestamp of the test's choice, for a visitor who was never seen before: with an entry in the first row,
// and one under a combination.
func rememberFirstAt(t *testing.T, s *Store, visit *models.Visit, at models.Position, clock time.Time) {
	t.Helper()
	batch := s.session.NewBatch(gocql.UnloggedBatch).WithContext(t.Context()).WithTimestamp(clock.UnixMicro())
	for _, row := range visit.AppendRows(nil) {
		for combination, of := range map[uint64]models.Ways{0: {3, 3, 3}, 2: {12, 12, 12}} {
			for way, asked := range row.Asked {
				of[way] &= asked
			}
			whose := visit.Under(row.Month, combination)
			args := partitionOf(whose).Args()
			batch.Query(s.cql.insertEntry, appendEntry(args, whose, models.First{At: at, Day: visit.TS.Day(), Features: visit.Features, Of: of})...)
		}
	}
	if err := s.session.ExecuteBatch(batch); err != nil {
		t.Fatal(err)
	}
}

// A forgotten visitor has no row, and has one again after the next event, also if clocks of consumers are ahead or behind.
func testForgetClocks(t *testing.T, s *Store) {
	click := models.Sighting{Keyspace: models.URLShortener, Name: "clocks", Visitor: "192.0.2.77"}
	inRows := &models.Visit{SiteID: "clocks in rows", GUID: "forgotten", TS: models.Earliest, Features: []string{"fb", "/"}}
	sightings := append(inRows.Sightings(), click)
	found := func(want models.Position, text string) {
		t.Helper()
		for sighting, at := range firstEvents(t, s, sightings) {
			if at != want {
				t.Errorf("%s: %+v was first seen at %+v, want %+v", text, sighting, at, want)
			}
		}
	}
	entries := int64(2)
	f := func(ahead time.Duration) { // how far the consumers' clocks are ahead of that of Forget
		t.Helper()
		rememberAt(t, s, click, models.Position{Topic: "t", Offset: 1}, time.Now().Add(ahead))
		rememberFirstAt(t, s, inRows, models.Position{Topic: "t", Offset: 1}, time.Now().Add(ahead))
		before, err := s.Notices(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		f, err := s.Forget(t.Context(), []string{inRows.GUID}, []string{click.Visitor}, func(Forgotten) {})
		if err != nil || f.IPs != 1 || f.Guids != entries*int64(len(inRows.AppendRows(nil))) {
			t.Errorf("removed %+v, %v", f, err)
		}
		found(models.Position{}, "forgotten")
		if after, err := s.Notices(t.Context()); err != nil || after.Forgotten == before.Forgotten {
			t.Errorf("consumers were told %q before and %q after, %v", before.Forgotten, after.Forgotten, err)
		}
		rememberAt(t, s, click, models.Position{Topic: "t", Offset: 2}, time.Now().Add(ahead+time.Second))
		rememberFirstAt(t, s, inRows, models.Position{Topic: "t", Offset: 2}, time.Now().Add(ahead+time.Second))
		found(models.Position{Topic: "t", Offset: 2}, "seen again")
		entries = 4 // of this event and of the next one
	}
	f(-time.Hour)
	f(time.Hour)
	insert := `INSERT INTO ` + s.names.Footfall + `.forgotten (name, version) VALUES ('visitors', 'by a clock ahead') USING TIMESTAMP ?`
	if err := s.session.Query(insert, time.Now().Add(time.Hour).UnixMicro()).Exec(); err != nil {
		t.Fatal(err)
	}
	f(2 * time.Hour)
}

// DropVisitors also removes rows that a consumer whose clock is ahead has written.
func testDropClocks(t *testing.T, s *Store) {
	inRows := &models.Visit{SiteID: "clocks in rows", GUID: "retired", TS: models.Earliest, Features: []string{"fb", "/"}}
	rememberFirstAt(t, s, inRows, models.Position{Topic: "t", Offset: 1}, time.Now().Add(clockSpread/2))
	before := models.Earliest + 100*86_400_000
	if _, err := s.DropVisitors(t.Context(), store.Part{Keyspace: models.Cardinality, Of: 1}, before, func(int) {}); err != nil {
		t.Fatal(err)
	}
	for sighting, at := range firstEvents(t, s, inRows.Sightings()) {
		if at != (models.Position{}) {
			t.Errorf("%+v was not removed", sighting)
		}
	}
}
