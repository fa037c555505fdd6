package storetest

import (
	"testing"

	"footfall/consumer/store"
	"footfall/models"
	"footfall/models/modelstest"
)

// allCells has every kind of cell of both keyspaces, several of each that has several.
func allCells(t *testing.T) map[models.Key][]models.Cell {
	hour, next := at(t, "2018-10-01 14:00"), at(t, "2018-10-01 15:00")
	day, tomorrow := at(t, "2018-10-01 00:00"), at(t, "2018-10-02 00:00")
	clicks := []models.Cell{
		{Counter: models.ClickCounter},
		{Counter: models.HourCounters, At: hour},
		{Counter: models.HourCounters, At: next},
		{Counter: models.HourCounters, At: day}, // an hour that looks like a day
		{Counter: models.DayCounters, At: day},
		{Counter: models.DayCounters, At: tomorrow},
		{Counter: models.DayCounters, At: models.Earliest.Day()},
		{Counter: models.DayCounters, At: models.Latest.Day()},
		{Counter: models.CountryCounters, Label: "IT"},
		{Counter: models.CountryCounters, Label: models.UnknownCountry},
		{Counter: models.ReferrerCounters, Label: ""},
		{Counter: models.ReferrerCounters, Label: "https://example.com/?q=1|2"},
		{Counter: models.CountryMonths, At: day, Label: "IT"}, // one table: dimension, month and label tell them apart
		{Counter: models.CountryMonths, At: models.Latest.Month(), Label: "IT"},
		{Counter: models.ReferrerMonths, At: day, Label: "IT"},
		{Counter: models.BrowserMonths, At: day},
		{Counter: models.SystemMonths, At: day},
		{Counter: models.DeviceMonths, At: day, Label: "phone"},
		{Counter: models.UniqueCounter},
		{Counter: models.BotCounter},
		{Counter: models.NumValues, At: day}, // two counters of one row
		{Counter: models.SumValues, At: day},
		{Counter: models.NumValues, At: tomorrow},
		{Counter: models.SumValues, At: models.Latest.Day()},
	}
	visits := []models.Cell{
		{Counter: models.MonthUnique, At: day},
		{Counter: models.WeekUnique, At: day},
		{Counter: models.DayUnique, At: day},
		{Counter: models.DayUnique, At: tomorrow},
		{Counter: models.MonthViews, At: day},
		{Counter: models.DayViews, At: day},
		{Counter: models.HourViews, At: day},
		{Counter: models.HourViews, At: hour},
	}
	s := name("site")
	key := func(features ...string) models.Key {
		return models.Key{Keyspace: models.Cardinality, Name: s, Month: day, Features: models.NewFeatures(features...)}
	}
	november := key("", "")
	november.Month = at(t, "2018-11-01 00:00")
	return map[models.Key][]models.Cell{
		link(): clicks, link(): clicks,
		key("", ""): visits, key("facebook.com", ""): visits, key("", "facebook.com"): visits,
		key("facebook.com", "mobile"): visits, november: visits,
	}
}

// testCells increments every kind of cell twice, and then decrements it. Values differ from cell to cell, so that the test
// notices one stored in place of another.
func testCells(t *testing.T, s *suite) {
	cells := allCells(t)
	want := modelstest.Cells{}
	for round, factor := range []int64{1, 1_000_000_007, -3} {
		var writes []store.KeyWrite
		n := int64(0)
		for key, list := range cells {
			deltas := map[models.Cell]int64{}
			for _, cell := range list {
				n++
				deltas[cell] = n * factor
				want.Add(key, cell, n*factor)
			}
			writes = append(writes, store.KeyWrite{Key: key, Cells: deltas})
		}
		s.apply(t, writes...)
		for key, list := range want {
			for cell, value := range list {
				s.wantCell(t, key, cell, value)
			}
		}
		if t.Failed() {
			t.Fatalf("after round %d", round)
		}
	}

	other := link()
	for _, list := range cells {
		if list[0].Counter == models.ClickCounter {
			for _, cell := range list {
				s.wantNoCell(t, other, cell)
			}
			return
		}
	}
}

// testCellsOfEvents writes what real events count.
func testCellsOfEvents(t *testing.T, s *suite) {
	ts := at(t, "2018-10-01 14:25")
	none, loss := int64(0), int64(-models.MaxAmount)
	events := []models.Event{
		&models.Click{ShortURL: name("link"), IP: "203.0.113.7", TS: ts, Amount: &none}, // counts, and adds 0
		&models.Click{ShortURL: name("link"), IP: "203.0.113.7", TS: ts, Amount: &loss},
		&models.Click{ShortURL: name("link"), IP: "203.0.113.7", Country: "IT", TS: ts, Referrer: "example.com"},
		&models.Click{ShortURL: name("link"), IP: "203.0.113.7", TS: ts, Bot: true},
		&models.Visit{SiteID: name("site"), GUID: "g1", TS: ts, Features: []string{"facebook.com", "mobile"}},
		&models.Visit{SiteID: name("site"), GUID: "g1", TS: ts, Features: []string{"", ""}},
	}
	want := modelstest.Cells{}
	for _, e := range events {
		first := make([]bool, len(e.Sightings()))
		for i := range first {
			first[i] = true
		}
		e.Count(first, want.Add)
	}
	var writes []store.KeyWrite
	for key, cells := range want {
		writes = append(writes, store.KeyWrite{Key: key, Cells: cells})
	}
	s.apply(t, writes...)
	for key, cells := range want {
		for cell, value := range cells {
			s.wantCell(t, key, cell, value)
		}
	}
}

// testCellText: cells with unusual names, labels and features are kept apart and found again.
func testCellText(t *testing.T, s *suite) {
	month := at(t, "2018-10-01 00:00")
	site := name("site")
	var writes []store.KeyWrite
	for i, text := range texts {
		clicks := models.Key{Keyspace: models.URLShortener, Name: short(name("l") + text)}
		writes = append(writes, store.KeyWrite{
			Key: clicks, Cells: map[models.Cell]int64{{Counter: models.ReferrerCounters, Label: text}: int64(i + 1)},
		})
		visits := models.Key{Keyspace: models.Cardinality, Name: site, Month: month, Features: models.NewFeatures(text, "f")}
		writes = append(writes, store.KeyWrite{
			Key: visits, Cells: map[models.Cell]int64{{Counter: models.MonthViews, At: month}: int64(i + 1)},
		})
	}
	s.apply(t, writes...)
	for _, w := range writes {
		for cell, value := range w.Cells {
			s.wantCell(t, w.Key, cell, value)
		}
	}
}

// testWeekOfPreviousMonth: 1 November 2018 is a Thursday, so its week is filed under October; 1 January 2019 is a
// Tuesday, so its week is filed under December of the year before.
func testWeekOfPreviousMonth(t *testing.T, s *suite) {
	for _, c := range []struct{ day, month, monday, mondaysMonth string }{
		{"2018-11-01 09:00", "2018-11-01 00:00", "2018-10-29 00:00", "2018-10-01 00:00"},
		{"2019-01-01 00:00", "2019-01-01 00:00", "2018-12-31 00:00", "2018-12-01 00:00"},
		{"2018-10-01 23:59", "2018-10-01 00:00", "2018-10-01 00:00", "2018-10-01 00:00"},
	} {
		v := &models.Visit{SiteID: name("site"), GUID: "g", TS: at(t, c.day), Features: []string{"", ""}}
		cells := modelstest.Cells{}
		v.Count([]bool{true, true, true}, cells.Add)
		var writes []store.KeyWrite
		for key, deltas := range cells {
			writes = append(writes, store.KeyWrite{Key: key, Cells: deltas})
		}
		s.apply(t, writes...)

		key := func(month string) models.Key {
			return models.Key{Keyspace: models.Cardinality, Name: v.SiteID, Month: at(t, month), Features: models.NewFeatures("", "")}
		}
		week := models.Cell{Counter: models.WeekUnique, At: at(t, c.monday)}
		s.wantCell(t, key(c.mondaysMonth), week, 1)
		if c.mondaysMonth != c.month {
			s.wantNoCell(t, key(c.month), week)
		}
		s.wantCell(t, key(c.month), models.Cell{Counter: models.MonthUnique, At: at(t, c.month)}, 1)
		s.wantCell(t, key(c.month), models.Cell{Counter: models.DayUnique, At: at(t, c.day).Day()}, 1)
	}
}
