package stats_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// listings counts how often the store is asked whether its lists are whole.
type listings struct {
	*statstest.Memory
	asked int
}

func (l *listings) Listed(ctx context.Context) (bool, error) {
	l.asked++
	return l.Memory.Listed(ctx)
}

// TestListsThatAreNotFilled are never told as complete. When they are filled the reader knows a second later, and asks no more.
func TestListsThatAreNotFilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &listings{Memory: statstest.NewMemory(models.DefaultPlan())}
		m.Unlist(true)
		m.Add(click("abc", "a", "2018-10-01"), &models.Visit{SiteID: "s", GUID: "g", TS: on("2018-10-01"), Features: []string{"a", "b"}})
		r := stats.New(m, "clicks", "visits")
		check := func(unlisted bool, asked int) {
			t.Helper()
			for range 3 {
				checkLists(t, r, unlisted)
			}
			if m.asked != asked {
				t.Errorf("the store was asked %d times, want %d", m.asked, asked)
			}
		}
		check(true, 1)
		m.Unlist(false)
		check(true, 1)
		time.Sleep(time.Second)
		check(false, 2)
		time.Sleep(time.Hour)
		check(false, 2)
	})
}

// checkLists asks for everything that is found by lists.
func checkLists(t *testing.T, r *stats.Reader, unlisted bool) {
	t.Helper()
	ctx, at := t.Context(), on("2018-10-01")
	for what, ask := range map[string]func() (stats.Names, error){
		"links":  func() (stats.Names, error) { return r.Links(ctx, at, all) },
		"sites":  func() (stats.Names, error) { return r.Sites(ctx, at, all) },
		"values": func() (stats.Names, error) { return r.Values(ctx, "s", "feature1", at) },
	} {
		if names, err := ask(); err != nil || names.Unlisted != unlisted {
			t.Errorf("%s: unlisted %v, %v; want %v", what, names.Unlisted, err, unlisted)
		}
	}
	for what, ask := range map[string]func() (stats.Top, error){
		"busiest links": func() (stats.Top, error) { return r.BusiestLinks(ctx, at, 0, all) },
		"busiest sites": func() (stats.Top, error) { return r.BusiestSites(ctx, at, stats.Views, 0, all) },
		"top values": func() (stats.Top, error) {
			return r.SiteTop(ctx, stats.TopQuery{Site: "s", Feature: "feature1", Period: period("2018-10"), Metric: stats.Views})
		},
	} {
		if top, err := ask(); err != nil || top.Complete == unlisted || top.Unlisted != unlisted || len(top.Rows) != 1 {
			t.Errorf("%s: %+v, %v; want unlisted %v", what, top, err, unlisted)
		}
	}
	if m, err := r.SiteMonth(ctx, "s", at); err != nil || m.Unlisted != unlisted {
		t.Errorf("a site's month: %+v, %v; want unlisted %v", m, err, unlisted)
	}
}

// A store that cannot tell whether its lists are whole answers nothing that is found by them.
func TestListsOfAFailingStore(t *testing.T) {
	failed := errors.New("no connection")
	r := stats.New(deaf{statstest.NewMemory(models.DefaultPlan()), failed}, "clicks", "visits")
	if _, err := r.Sites(t.Context(), on("2018-10"), all); !errors.Is(err, failed) {
		t.Errorf("%v, want %v", err, failed)
	}
}

type deaf struct {
	*statstest.Memory
	err error
}

func (d deaf) Listed(context.Context) (bool, error) { return false, d.err }
