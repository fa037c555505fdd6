package stats_test

import (
	"errors"
	"fmt"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

const someDay models.Millis = 1_538_352_000_000 // 2018-10-01

func TestBusiestLinks(t *testing.T) {
	m := statstest.NewMemory(models.DefaultPlan())
	r := stats.New(m, "clicks", "visits")
	click := func(link string, at models.Millis, n int) {
		for i := range n {
			m.Add(&models.Click{V: 1, ID: fmt.Sprint(i), ShortURL: link, IP: "1", TS: at})
		}
	}
	click("a", someDay, 2)
	click("b", someDay+5, 3)
	click("c", someDay+6, 3)
	click("old", someDay-1, 9)
	m.List(t, models.Name{List: models.LinksByDay, Start: someDay, Value: "listed, never counted"})
	f := func(limit int, of []models.NameRange, values int, want ...stats.Share) {
		t.Helper()
		top, err := r.BusiestLinks(t.Context(), someDay+1000, limit, of)
		if err != nil || fmt.Sprint(top.Rows) != fmt.Sprint(want) || top.Values != values || !top.Complete {
			t.Errorf("%+v, %v; want %v", top, err, want)
		}
	}
	f(0, all, 4, stats.Share{Label: "b", Count: 3}, stats.Share{Label: "c", Count: 3}, stats.Share{Label: "a", Count: 2})
	f(1, all, 4, stats.Share{Label: "b", Count: 3})
	f(0, []models.NameRange{{From: "a", To: "a"}}, 1, stats.Share{Label: "a", Count: 2})
	for i := range stats.MaxBusiest {
		m.List(t, models.Name{List: models.LinksByDay, Start: someDay, Value: fmt.Sprint("more", i)})
	}
	if top, err := r.BusiestLinks(t.Context(), someDay, 3, all); err != nil || top.Complete || top.Values != stats.MaxBusiest {
		t.Errorf("%d of them, complete %v, %v", top.Values, top.Complete, err)
	}
	m.Fail(errors.New("away"))
	if top, err := r.BusiestLinks(t.Context(), someDay, 3, all); err == nil {
		t.Errorf("%+v of a store that fails", top)
	}
}

func TestBusiestSites(t *testing.T) {
	m := statstest.NewMemory(models.DefaultPlan())
	r := stats.New(m, "clicks", "visits")
	for i := range 6 {
		m.Add(&models.Visit{V: 1, ID: fmt.Sprint(i), SiteID: "views", GUID: "same", TS: someDay, Features: []string{"", ""}},
			&models.Visit{V: 1, ID: fmt.Sprint(i), SiteID: "visitors", GUID: fmt.Sprint(i / 2), TS: someDay, Features: []string{"x", ""}})
	}
	f := func(metric stats.Metric, want ...stats.Share) {
		t.Helper()
		if top, err := r.BusiestSites(t.Context(), someDay+5, metric, 0, all); err != nil || fmt.Sprint(top.Rows) != fmt.Sprint(want) || !top.Complete {
			t.Errorf("%+v, %v; want %v", top, err, want)
		}
	}
	f(stats.Unique, stats.Share{Label: "visitors", Count: 3}, stats.Share{Label: "views", Count: 1})
	f(stats.Views, stats.Share{Label: "views", Count: 6}, stats.Share{Label: "visitors", Count: 6})
	views, err := models.NewPlan(models.DefaultFeatures(), []string{models.MonthViews})
	if err != nil {
		t.Fatal(err)
	}
	var none *stats.NotKept
	if _, err := stats.New(statstest.NewMemory(views), "clicks", "visits").BusiestSites(t.Context(), someDay, stats.Unique, 0, all); !errors.As(err, &none) {
		t.Errorf("%v, want NotKept", err)
	}
}
