package statstest

import (
	"iter"
	"testing"

	"footfall/models"
	"footfall/reader/stats"
)

// Counts are numbers by key and cell.
type Counts map[models.Key]map[models.Cell]int64

// Add adds to a cell.
func (c Counts) Add(key models.Key, cell models.Cell, n int64) {
	if c[key] == nil {
		c[key] = map[models.Cell]int64{}
	}
	c[key][cell] += n
}

// Tables is how the suite fills the tables that a store reads, with the code of those who count where there is one.
type Tables interface {
	// Count adds to the cells of keys.
	Count(t testing.TB, cells Counts)
	// Lead says where a link leads.
	Lead(t testing.TB, link, long string)
	// Keep stores latest clicks, for an hour from their time or from now.
	Keep(t testing.TB, clicks ...models.LatestClick)
	// List stores rows of the lists.
	List(t testing.TB, names ...models.Name)
	// Note stores how far a partition is.
	Note(t testing.TB, p stats.Progress)
	// Split says how many partitions a topic had when it was first counted.
	Split(t testing.TB, topic string, partitions int)
	// Doubt opens a doubt under an id.
	Doubt(t testing.TB, p models.Partition, id int64)
	// Retire announces a retirement, and finishes it if done. False: this store has none.
	Retire(t testing.TB, before models.Millis, done bool) bool
}

// Run is the suite. open makes empty tables for a plan, and a store that reads them; it is called a few times.
func Run(t *testing.T, open func(t *testing.T, plan *models.Plan) (stats.Store, Tables)) {
	t.Run("two features", func(t *testing.T) {
		s, tables := open(t, models.DefaultPlan())
		if !s.Plan().Equal(models.DefaultPlan()) {
			t.Errorf("plan %v", s.Plan())
		}
		for name, test := range map[string]func(*testing.T, stats.Store, Tables){
			"link": testLink, "clicks": testClicks, "ranked links": testRankedLinks, "labels": testLabels, "amounts": testAmounts, "latest": testLatest,
			"visits": testVisits, "ranked": testRanked, "ranked sites": testRankedSites, "lists": testLists, "hostile names": testHostile, "progress": testProgress, "pulse": testPulse, "partitions": testPartitions,
			"doubts": testDoubts, "retired": testRetired, "stops": testStops, "slow": testSlow, "cancelled": testCancelled,
		} {
			t.Run(name, func(t *testing.T) { test(t, s, tables) })
		}
	})
	t.Run("another plan", func(t *testing.T) {
		plan, err := models.NewPlan([]string{"page", "campaign", "country_code"}, []string{models.DayUnique, models.HourViews})
		if err != nil {
			t.Fatal(err)
		}
		s, tables := open(t, plan)
		if !s.Plan().Equal(plan) {
			t.Errorf("plan %v, want %v", s.Plan(), plan)
		}
		testOtherPlan(t, s, tables)
	})
}

// collect runs through a sequence.
func collect[T any](t *testing.T, rows iter.Seq2[T, error]) (out []T) {
	t.Helper()
	for row, err := range rows {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// at reads a moment: 2018-10-01 or 2018-10-01T14.
func at(text string) models.Millis {
	t, err := stats.ParseMoment("test", text)
	if err != nil {
		panic(err)
	}
	return t
}

func within(from, to string) stats.Range { return stats.Range{From: at(from), To: at(to)} }

func point(start string, count int64) stats.Point { return stats.Point{Start: at(start), Count: count} }

// The names of a link on a day, of a site in a month, and of a site's value in a month.

func linkOn(day models.Millis, link string) models.Name {
	return models.Name{List: models.LinksByDay, Start: day, Value: link}
}

func siteIn(month models.Millis, site string) models.Name {
	return models.Name{List: models.SitesByMonth, Start: month, Value: site}
}

func valueIn(site string, month models.Millis, feature, value string) models.Name {
	return models.Name{List: models.ValuesByMonth, Site: site, Start: month, Feature: feature, Value: value}
}

func valuesOf(site string, month models.Millis, feature string) models.Name {
	return valueIn(site, month, feature, "")
}
