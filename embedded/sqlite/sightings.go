package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"footfall/models"
)

// sightingTable is the table of a keyspace's visitors. Both statements take one JSON array of rows.
type sightingTable struct {
	seen, remember string
	row            func(models.Sighting) []any // the primary key
}

func sightingTables(plan *models.Plan) map[models.Keyspace]sightingTable {
	var features strings.Builder
	for i := range plan.Features() {
		fmt.Fprintf(&features, ", value ->> %d", 8+i)
	}
	return map[models.Keyspace]sightingTable{
		models.URLShortener: {
			seen: `
				SELECT s.key, topic, kafka_partition, kafka_offset
				FROM json_each(?) s CROSS JOIN urlshortener.uniquecounterips
				WHERE short_url = s.value ->> 0 AND ip = s.value ->> 1`,
			remember: `
				INSERT INTO urlshortener.uniquecounterips
				SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4
				FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
			row: func(s models.Sighting) []any { return []any{s.Name, s.Visitor} },
		},
		models.Cardinality: {
			seen: `
				SELECT s.key, topic, kafka_partition, kafka_offset
				FROM json_each(?) s CROSS JOIN cardinality.GuidData
				WHERE siteId = s.value ->> 0 AND interval_size = s.value ->> 1 AND interval_start = s.value ->> 2
				  AND bucket = s.value ->> 3 AND guid = s.value ->> 4` + equalFeatures(plan, "s", 5),
			remember: `
				INSERT INTO cardinality.GuidData
				SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, value ->> 7` +
				features.String() + `
				FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
			row: func(s models.Sighting) []any {
				return withFeatures([]any{s.Name, s.Interval, day(s.Start), models.Bucket(s.Visitor), s.Visitor}, s.Features)
			},
		},
	}
}

// byKeyspace lists the indices of the sightings of each keyspace. It refuses those that have no table for them.
func (s *Store) byKeyspace(sightings []models.Sighting) (map[models.Keyspace][]int, error) {
	of := map[models.Keyspace][]int{}
	for i, sighting := range sightings {
		of[sighting.Keyspace] = append(of[sighting.Keyspace], i)
	}
	for keyspace := range of {
		if _, ok := s.sightings[keyspace]; !ok {
			return nil, fmt.Errorf("no keyspace %q", keyspace)
		}
	}
	return of, nil
}

// FirstSeen implements store.Store.
func (s *Store) FirstSeen(ctx context.Context, sightings []models.Sighting) ([]models.Position, error) {
	of, err := s.byKeyspace(sightings)
	if err != nil {
		return nil, fmt.Errorf("looking for first sights: %w", err)
	}
	first := make([]models.Position, len(sightings))
	for keyspace, indices := range of {
		table := s.sightings[keyspace]
		for chunk := range slices.Chunk(indices, perStatement) {
			array := make([][]any, len(chunk))
			for i, index := range chunk {
				array[i] = table.row(sightings[index])
			}
			err := s.each(ctx, table.seen, array, func(scan func(...any) error) error {
				var i int
				var p models.Position
				err := scan(&i, &p.Topic, &p.Partition, &p.Offset)
				if err != nil {
					return err
				}
				if p.Topic == "" { // a row inserted by hand: seen, but not in an event of the log
					p = models.Position{Partition: -1, Offset: -1}
				}
				first[chunk[i]] = p
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("looking for first sights in %s: %w", keyspace, err)
			}
		}
	}
	return first, nil
}

// Remember implements store.Store. It does not change rows that exist: they have the first sighting.
func (s *Store) Remember(ctx context.Context, sightings []models.Sighting, first []models.Position) error {
	of, err := s.byKeyspace(sightings)
	if err != nil {
		return fmt.Errorf("remembering first sights: %w", err)
	}
	for keyspace, indices := range of {
		table := s.sightings[keyspace]
		err := s.write(ctx, fmt.Sprintf("remembering %d first sights in %s", len(indices), keyspace), func(ctx context.Context, tx *sql.Tx) error {
			for chunk := range slices.Chunk(indices, perStatement) {
				array := make([][]any, len(chunk))
				for i, index := range chunk {
					at := first[index]
					array[i] = append(table.row(sightings[index]), at.Topic, at.Partition, at.Offset)
				}
				parameter, err := json.Marshal(array)
				if err != nil {
					return err
				}
				if _, err := tx.ExecContext(ctx, table.remember, string(parameter)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}
