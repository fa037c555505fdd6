package models

import "slices"

// IntervalHour is the interval of hours; those in which visitors count once are in visit.go.
const IntervalHour = "hour"

// Counter is a number that is kept of each link, or of each key of a site: the Counter of a Cell. What an event adds to it says Count.
type Counter struct {
	Name     string // of the cell
	Keyspace Keyspace
	Table    string
	Column   string // that it adds to
	Interval string // whose start is the cell's At; empty: it has none
	Visitors bool   // it counts different visitors, which do not add up
	Combined bool   // it is kept of combinations of features; others of the site and of single features
	AddsUpTo string // the counter of the same key that its cells add up to
	Word     string // what its label is, if its cells divide clicks
	Path     string // of the API: what people call all of them
	Chosen   bool   // a plan may leave it out: it is one of AllMetrics
}

// Counters are all there are. Those that are chosen are in the order in which a plan records its metrics.
var Counters = []Counter{
	{Name: ClickCounter, Keyspace: URLShortener, Table: ClickCounter, Column: "value"},
	{Name: HourCounters, Keyspace: URLShortener, Table: HourCounters, Column: "value", Interval: IntervalHour, AddsUpTo: ClickCounter},
	{Name: DayCounters, Keyspace: URLShortener, Table: DayCounters, Column: "value", Interval: IntervalDay, AddsUpTo: ClickCounter},
	{Name: CountryCounters, Keyspace: URLShortener, Table: CountryCounters, Column: "value", AddsUpTo: ClickCounter, Word: "country", Path: "countries"},
	{Name: ReferrerCounters, Keyspace: URLShortener, Table: ReferrerCounters, Column: "value", AddsUpTo: ClickCounter, Word: "referrer", Path: "referrers"},
	{Name: UniqueCounter, Keyspace: URLShortener, Table: UniqueCounter, Column: "value", Visitors: true},
	{Name: BotCounter, Keyspace: URLShortener, Table: BotCounter, Column: "value"},
	{Name: NumValues, Keyspace: URLShortener, Table: AmountCounters, Column: NumValues, Interval: IntervalDay},
	{Name: SumValues, Keyspace: URLShortener, Table: AmountCounters, Column: SumValues, Interval: IntervalDay},
	{Name: MonthUnique, Keyspace: Cardinality, Table: SiteCounts, Column: "visits", Interval: IntervalMonth, Visitors: true, Combined: true, Chosen: true},
	{Name: WeekUnique, Keyspace: Cardinality, Table: SiteCounts, Column: "visits", Interval: IntervalWeek, Visitors: true, Combined: true, Chosen: true},
	{Name: DayUnique, Keyspace: Cardinality, Table: SiteCounts, Column: "visits", Interval: IntervalDay, Visitors: true, Combined: true, Chosen: true},
	{Name: MonthViews, Keyspace: Cardinality, Table: SiteCounts, Column: "visits", Interval: IntervalMonth, Chosen: true},
	{Name: DayViews, Keyspace: Cardinality, Table: SiteCounts, Column: "visits", Interval: IntervalDay, Chosen: true},
	{Name: HourViews, Keyspace: Cardinality, Table: SiteCounts, Column: "visits", Interval: IntervalHour, Chosen: true},
	{Name: CountryMonths, Keyspace: URLShortener, Table: MonthCounters, Column: "value", Interval: IntervalMonth, AddsUpTo: ClickCounter, Word: CountryMonths, Path: "countries", Chosen: true},
	{Name: ReferrerMonths, Keyspace: URLShortener, Table: MonthCounters, Column: "value", Interval: IntervalMonth, AddsUpTo: ClickCounter, Word: ReferrerMonths, Path: "referrers", Chosen: true},
	{Name: BrowserMonths, Keyspace: URLShortener, Table: MonthCounters, Column: "value", Interval: IntervalMonth, AddsUpTo: ClickCounter, Word: BrowserMonths, Path: "browsers", Chosen: true},
	{Name: SystemMonths, Keyspace: URLShortener, Table: MonthCounters, Column: "value", Interval: IntervalMonth, AddsUpTo: ClickCounter, Word: SystemMonths, Path: "systems", Chosen: true},
	{Name: DeviceMonths, Keyspace: URLShortener, Table: MonthCounters, Column: "value", Interval: IntervalMonth, AddsUpTo: ClickCounter, Word: DeviceMonths, Path: "devices", Chosen: true},
}

// CounterOf finds a counter by its name.
func CounterOf(name string) (Counter, bool) {
	for _, c := range Counters {
		if c.Name == name {
			return c, true
		}
	}
	return Counter{}, false
}

// Counters are those that are kept with this plan.
func (p *Plan) Counters() []Counter {
	return slices.DeleteFunc(slices.Clone(Counters), func(c Counter) bool { return c.Chosen && !slices.Contains(p.metrics, c.Name) })
}

// Rows are the columns that tell the counter's cells apart: KindTag, KindTime for At and KindText for Label.
func (c Counter) Rows() []Column { return TableOf(c.Keyspace, c.Table).Rows }

// Place is where the counter is, for people: its table, and what it is tagged with there.
func (c Counter) Place() string {
	if c.ColumnOf(KindTag) == "" {
		return c.Table
	}
	return c.Table + " of " + c.Name
}

// ColumnOf is the column of a row that has this kind; empty: there is none.
func (c Counter) ColumnOf(kind Kind) string {
	for _, column := range c.Rows() {
		if column.Kind == kind {
			return column.Name
		}
	}
	return ""
}

// PartsOf are the kept counters whose cells add up to one.
func (p *Plan) PartsOf(name string) []Counter {
	return slices.DeleteFunc(p.Counters(), func(c Counter) bool { return c.AddsUpTo != name })
}

// Breakdown is what a link's clicks are divided by: the counters whose cells have the same kind of label.
type Breakdown struct {
	Word, Path    string // as Counter has them
	Ever, ByMonth string // counters, of all time and by month; empty: there is none, or it is not kept
}

// Breakdowns are those that are kept, in the order of Counters.
func (p *Plan) Breakdowns() (list []Breakdown) {
	for _, c := range p.Counters() {
		if c.Path == "" {
			continue
		}
		i := slices.IndexFunc(list, func(b Breakdown) bool { return b.Path == c.Path })
		if i < 0 {
			i, list = len(list), append(list, Breakdown{Word: c.Word, Path: c.Path})
		}
		if c.Interval == "" {
			list[i].Ever = c.Name
		} else {
			list[i].ByMonth = c.Name
		}
	}
	return list
}
