package eventlog

import (
	"maps"
	"testing"

	"footfall/consumer/store"
	"footfall/models"
)

// Tables are behind their group only if a snapshot was restored. Where an owner may have crashed between its two notes, they may not be, and
// where the group's offset is about other tables, it says nothing.
func TestRestored(t *testing.T) {
	p := models.Partition{Topic: "clicks", Number: 3}
	owner := func(committed int64, clean bool) []store.Owner {
		return []store.Owner{{Partition: p, Committed: committed, Clean: clean}}
	}
	at := func(offset int64, tables string) GroupOffset {
		return GroupOffset{Offset: offset, Mark: Mark{Tables: tables}}
	}
	for name, c := range map[string]struct {
		owners []store.Owner
		at     GroupOffset
		want   int64 // where counting goes on
		ahead  bool
	}{
		"left clean, and the tables are older": {owner(100, true), at(250, "t"), 100, true},
		"left clean, and up to date":           {owner(250, true), at(250, "t"), 250, false},
		"the group is behind":                  {owner(300, true), at(250, "t"), 250, false},
		"crashed after its commit":             {owner(100, false), at(250, "t"), 250, false},
		"never counted into these tables":      {nil, at(250, "t"), 0, true},
		"the offset is about other tables":     {owner(100, true), at(250, "u"), 250, false},
		"an offset that somebody set":          {owner(100, true), at(250, ""), 250, false},
	} {
		t.Run(name, func(t *testing.T) {
			places := map[models.Partition]GroupOffset{p: c.at}
			ahead := restored(c.owners, "t", places)
			want := map[models.Partition]int64{}
			if c.ahead {
				want[p] = c.at.Offset
			}
			if !maps.Equal(ahead, want) || places[p].Offset != c.want {
				t.Errorf("counting goes on at %d, and %v were ahead; want %d and %v", places[p].Offset, ahead, c.want, want)
			}
			if c.ahead && places[p].Tables != "t" {
				t.Errorf("the place has lost its mark: %+v", places[p])
			}
		})
	}
}
