package maintenance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

// unlisted is a store that was counted into before there were lists, and the names that are to be listed.
func unlisted(n int) (*links, map[models.Name]bool) {
	m, want := memstore.New(), map[models.Name]bool{}
	counts, seen := modelstest.Cells{}, modelstest.Seen{}
	for i := range n {
		ts := models.Earliest + models.Millis(i)*24*3600*1000
		for _, e := range []models.Event{
			&models.Click{ShortURL: fmt.Sprint("link", i), IP: "a", TS: ts}, &models.Click{ShortURL: fmt.Sprint("link", i), IP: "b", TS: ts + 7*24*3600*1000},
			&models.Click{ShortURL: fmt.Sprint("bots", i), IP: "a", TS: ts, Bot: true},
			&models.Visit{SiteID: fmt.Sprint("site", i%3), GUID: "g", TS: ts, Features: []string{"a", fmt.Sprint("page", i)}},
		} {
			e.Count(seen.First(e), counts.Add)
		}
	}
	for key, cells := range counts {
		m.ApplyOne(store.KeyWrite{Key: key, Cells: cells, Ledger: link(1).Ledger})
		models.DefaultPlan().Names(key, cells, func(n models.Name) { want[n] = true })
	}
	gone := models.Key{Keyspace: models.URLShortener, Name: "taken back"} // by a repair
	m.ApplyOne(store.KeyWrite{Key: gone, Cells: map[models.Cell]int64{{Counter: models.DayCounters}: 0}, Ledger: link(1).Ledger})
	return &links{Memory: m, failed: errors.New("no connection")}, want
}

func catalogue(l store.ListStore) *Catalogue {
	return &Catalogue{Store: l, Plan: models.DefaultPlan(), Parts: 8, AtOnce: 2, Report: func(string, ...any) {}}
}

// All that was counted is listed, and nothing else; again changes nothing.
func TestCatalogueListsAllThatIsCounted(t *testing.T) {
	l, want := unlisted(100)
	for range 2 {
		done, err := catalogue(l).Run(t.Context(), false)
		if err != nil || done.Keys != len(l.LedgerRows) || done.Names != len(want) {
			t.Errorf("%+v, %v; want %d keys and %d names", done, err, len(l.LedgerRows), len(want))
		}
		if !maps.Equal(l.Names, want) {
			t.Errorf("listed %d names\n%v\nwant %d\n%v", len(l.Names), l.Names, len(want), want)
		}
		if got := l.Settings[models.ListsSetting]; got != models.ListsWhole {
			t.Errorf("lists are recorded as %q, want %q", got, models.ListsWhole)
		}
	}
}

// One that was stopped goes on with the parts that are left, and then all is listed.
func TestCatalogueResumes(t *testing.T) {
	l, want := unlisted(100)
	c := catalogue(l)
	c.AtOnce = 1
	l.fatal = models.Key{Keyspace: models.Cardinality, Name: "site0", Month: models.Earliest.Month(), Features: models.NewFeatures("", "")}
	if _, err := c.Run(t.Context(), false); !errors.Is(err, l.failed) {
		t.Fatal(err)
	}
	unknown(t, l)
	l.fatal = models.Key{}
	l.reads.Store(0)
	done, err := c.Run(t.Context(), true)
	if err != nil || done.Keys != len(l.LedgerRows) || l.reads.Load() >= int64(done.Keys) {
		t.Errorf("%+v, %v after %d keys read; want fewer than %d", done, err, l.reads.Load(), len(l.LedgerRows))
	}
	if !maps.Equal(l.Names, want) || l.Settings[models.ListsSetting] != models.ListsWhole {
		t.Errorf("%d names are listed, recorded as %q; want %d, all", len(l.Names), l.Settings[models.ListsSetting], len(want))
	}
}

// unknown checks that a run that did not finish says nothing of the lists.
func unknown(t *testing.T, l *links) {
	t.Helper()
	if got := l.Settings[models.ListsSetting]; got != "" {
		t.Errorf("lists are recorded as %q before all is listed", got)
	}
}

// If the record cannot be written, the run has not finished.
func TestCatalogueThatCannotRecord(t *testing.T) {
	l, _ := unlisted(20)
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := catalogue(noSettings{l, cancel}).Run(ctx, false); !errors.Is(err, l.failed) {
		t.Errorf("%v, want %v", err, l.failed)
	}
	unknown(t, l)
}

// noSettings is a store that records no setting. Nobody tries again: the command is stopped.
type noSettings struct {
	*links
	stop func()
}

func (s noSettings) Setting(context.Context, string, string) (string, error) {
	s.stop()
	return "", s.failed
}

// A part whose names could not be listed is not taken for done.
func TestCatalogueOfAFailingStore(t *testing.T) {
	l, want := unlisted(20)
	ctx, cancel := context.WithCancel(t.Context())
	l.OnNames = func([]models.Name) error { cancel(); return l.failed }
	if _, err := catalogue(l).Run(ctx, false); !errors.Is(err, l.failed) && !errors.Is(err, context.Canceled) { // whichever part ends first
		t.Fatal(err)
	}
	unknown(t, l)
	l.OnNames = nil
	if _, err := catalogue(l).Run(t.Context(), true); err != nil || !maps.Equal(l.Names, want) {
		t.Errorf("%d names are listed, %v; want %d", len(l.Names), err, len(want))
	}
}
