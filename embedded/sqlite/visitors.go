package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"footfall/consumer/store"
	"footfall/internal/tables"
	"footfall/models"
)

// visitorStatements take a JSON array of rows. An IP that exists is not changed: it has the first event. An entry that exists is replaced.
type visitorStatements struct{ readIPs, insertIPs, readEntries, insertEntries string }

func newVisitorStatements(schema tables.Schema) visitorStatements {
	ips, entries := models.TableOf(models.URLShortener, models.LinkVisitors), models.TableOf(models.Cardinality, models.SiteVisitors)
	who, where := entries.Rows[:2], entries.Rows[2:] // guid and under; the place in the log
	return visitorStatements{
		readIPs:       lookUp(schema, ips, schema.List(ips.Values), ips.Partition, ips.Rows),
		insertIPs:     insertMany(schema, ips) + " DO NOTHING",
		readEntries:   lookUp(schema, entries, schema.List(where, entries.Values), entries.Partition, who),
		insertEntries: insertMany(schema, entries) + " DO UPDATE SET seen = excluded.seen",
	}
}

// insertMany inserts rows of a JSON array; what happens to those that exist comes after it.
func insertMany(schema tables.Schema, t models.Table) string {
	values := "value ->> 0"
	for i := range schema.Plan.Columns(t.Partition, t.Rows, t.Values)[1:] {
		values += fmt.Sprintf(", value ->> %d", i+1)
	}
	return "INSERT INTO " + schema.Name(t) + " SELECT " + values + " FROM json_each(?) WHERE true ON CONFLICT"
}

// FirstSeen implements store.Store.
func (s *Store) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	if err := store.OfLinks(sightings); err != nil {
		return nil, fmt.Errorf("looking up visitors: %w", err)
	}
	first := make([]models.Position, len(sightings))
	row := func(i int) []any { return []any{sightings[i].Name, sightings[i].Visitor} }
	var i int
	var p models.Position
	err := eachAsked(ctx, s.readers, s.visitors.readIPs, len(sightings), row, func() error {
		if first[i] = p; p.Topic == "" { // a row inserted by hand: seen, but not in an event of the log
			first[i] = models.Position{Partition: -1, Offset: -1}
		}
		return nil
	}, []any{&i, &p.Topic, &p.Partition, &p.Offset})
	if err != nil {
		return nil, fmt.Errorf("looking up visitors: %w", err)
	}
	return first, nil
}

// Remember implements store.Store.
func (s *Store) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	if err := store.OfLinks(sightings); err != nil {
		return fmt.Errorf("remembering visitors: %w", err)
	}
	rows := make([][]any, len(sightings))
	for i, of := range sightings {
		rows[i] = []any{of.Name, of.Visitor, first[i].Topic, first[i].Partition, first[i].Offset}
	}
	return s.insert(ctx, "remembering visitors of links", s.visitors.insertIPs, rows)
}

// rowOf is the part of the primary key that all entries of a visitor's row have.
func rowOf(v models.Visitor) []any {
	return []any{v.Site, day(v.Month), models.Bucket(v.GUID), v.GUID, v.Under}
}

// Visitors implements store.Store.
func (s *Store) Visitors(ctx context.Context, visitors []models.Visitor, found func(int, models.First)) error {
	var i int
	var at models.Position
	var text []byte
	err := eachAsked(ctx, s.readers, s.visitors.readEntries, len(visitors), func(i int) []any { return rowOf(visitors[i]) }, func() error {
		var seen []string
		_ = json.Unmarshal(text, &seen) // somebody may have written anything by hand: then it remembers nothing
		if first, ok := models.ReadFirst(at, seen, len(s.schema.Plan.Features())); ok {
			found(i, first)
		}
		return nil
	}, []any{&i, &at.Topic, &at.Partition, &at.Offset, &text})
	if err != nil {
		return fmt.Errorf("looking up visitors: %w", err)
	}
	return nil
}

// RememberFirsts implements store.Store.
func (s *Store) RememberFirsts(ctx context.Context, visitors []models.Visitor, firsts [][]models.First) error {
	var rows [][]any
	for i, v := range visitors {
		for _, f := range firsts[i] {
			rows = append(rows, append(rowOf(v), f.At.Topic, f.At.Partition, f.At.Offset, f.Seen()))
		}
	}
	return s.insert(ctx, "remembering visitors of sites", s.visitors.insertEntries, rows)
}
