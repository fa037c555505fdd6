package models

import "slices"

// Kind says what a column holds, and with that its type in each database.
type Kind string

// The kinds of columns.
const (
	KindText     Kind = "text"
	KindTime     Kind = "timestamp" // the start of an hour, day, week or month; or a moment
	KindInt      Kind = "int"
	KindBigInt   Kind = "bigint"
	KindBool     Kind = "boolean"
	KindTimeUUID Kind = "timeuuid"
	KindTexts    Kind = "frozen<list<text>>"
	KindCounter  Kind = "counter"
	// KindTag is a text: the counter's own name, where several counters share a table and a column.
	KindTag Kind = "tag"
	// KindFeatures stands for a text for each feature of the plan, by the features' names.
	KindFeatures Kind = "features"
)

// Column is a column of a table.
type Column struct {
	Name string
	Kind Kind
}

// Table is a table that analysts query. Keys, statements and answers of all databases are made of these; migrations and schema.sql say the
// same once more, with what only a database knows, and tests compare them with this.
type Table struct {
	Keyspace    Keyspace
	Name        string
	Partition   []Column // the partition key
	Rows        []Column // the rest of the primary key
	Values      []Column
	NewestFirst bool   // the rows of a partition are in the order of the last time among Rows, backwards
	Answers     string // questions of docs/model.md
	Holds       string // for people, as Most
	Most        string // rows of a partition, at the most
}

// The partition keys of counters, and what all ledgers have.
var (
	linkKey = []Column{{"short_url", KindText}}
	siteKey = []Column{{"siteId", KindText}, {"month_interval_start", KindTime}, {"", KindFeatures}}
	number  = []Column{{"value", KindCounter}}

	ledgerRows   = []Column{{"topic", KindText}, {"kafka_partition", KindInt}, {"kind", KindText}, {"epoch", KindBigInt}}
	ledgerValues = []Column{{"from_offset", KindCounter}, {"to_offset", KindCounter}}
	logPosition  = []Column{{"topic", KindText}, {"kafka_partition", KindInt}, {"kafka_offset", KindBigInt}}
)

// The tables that more than one place names.
const (
	AmountCounters = "amountcounters"
	MonthCounters  = "monthcounters"
	LinkVisitors   = "uniquecounterips"
	SiteVisitors   = "GuidData"
	LatestClicks   = "latestclicks"
	SiteCounts     = "Counts"
	LedgerTable    = "applied"
)

// Tables are all tables that analysts query, in the order in which documents have them.
var Tables = []Table{
	{URLShortener, "urls", linkKey, nil, []Column{{"long_url", KindText}, {"created_at", KindTime}}, false, "Q1", "where a link leads", "1"},
	{URLShortener, ClickCounter, linkKey, nil, number, false, "Q2", "all clicks, but those of bots", "1"},
	{URLShortener, HourCounters, linkKey, []Column{{"hour", KindTime}}, number, true, "Q3", "clicks by hour", "8,766 a year"},
	{URLShortener, DayCounters, linkKey, []Column{{"day", KindTime}}, number, true, "Q4", "clicks by day", "366 a year"},
	{URLShortener, CountryCounters, linkKey, []Column{{"country", KindText}}, number, false, "Q5", "clicks by country", "676"},
	{URLShortener, ReferrerCounters, linkKey, []Column{{"referrer", KindText}}, number, false, "Q6", "clicks by referrer", "one for each host"},
	{URLShortener, MonthCounters, linkKey, []Column{{"dimension", KindTag}, {"month", KindTime}, {"label", KindText}}, number, true, "Q21",
		"clicks by month, for each value of each dimension (country, referrer, browser, …)", "711 a month, and its referrers"},
	{URLShortener, UniqueCounter, linkKey, nil, number, false, "Q7", "different addresses", "1"},
	{URLShortener, LinkVisitors, linkKey, []Column{{"ip", KindText}}, logPosition, false, "Q8, Q13", "the addresses, each with its first event", "one for each address"},
	{URLShortener, BotCounter, linkKey, nil, number, false, "Q9", "clicks of bots", "1"},
	{URLShortener, AmountCounters, linkKey, []Column{{"day", KindTime}}, []Column{{NumValues, KindCounter}, {SumValues, KindCounter}}, true, "Q15",
		"how many clicks of a day had an amount, and their sum", "366 a year"},
	{URLShortener, LatestClicks, []Column{{"short_url", KindText}, {"day", KindTime}}, []Column{{"at", KindTimeUUID}}, []Column{{"country", KindText},
		{"referrer", KindText}, {"ip", KindText}, {"bot", KindBool}, {"id", KindText}}, true, "Q16", "the latest clicks, for a while", "one for each click of a day"},
	{URLShortener, LinksByDay, []Column{{"day", KindTime}, {"bucket", KindText}}, linkKey, nil, false, "Q17", "the links that were clicked on a day", "a sixteenth of them"},
	{URLShortener, LedgerTable, linkKey, ledgerRows, ledgerValues, false, "Q14", "which events of the log the key's counters hold", "one for each Kafka partition and epoch"},
	{Cardinality, SiteCounts, siteKey, []Column{{"metric_type", KindTag}, {"interval_start", KindTime}}, []Column{{"visits", KindCounter}}, false, "Q10, Q11, Q12",
		"different visitors and views, by month, week, day and hour", "813"},
	{Cardinality, SiteVisitors, []Column{{"siteId", KindText}, {"month_interval_start", KindTime}, {"bucket", KindText}},
		slices.Concat([]Column{{"guid", KindText}, {"under", KindText}}, logPosition), []Column{{"seen", KindTexts}}, false, "Q13, Q20",
		"what was new of a visitor in a month: an entry for each event that was the first in some way", "19,531 visitors × 10 under the load below"},
	{Cardinality, SitesByMonth, []Column{{"month_interval_start", KindTime}}, []Column{{"siteId", KindText}}, nil, false, "Q18", "the sites of a month", "all of them"},
	{Cardinality, ValuesByMonth, []Column{{"siteId", KindText}, {"month_interval_start", KindTime}, {"feature", KindText}, {"bucket", KindText}},
		[]Column{{"value", KindText}}, nil, false, "Q19", "the values that a feature had in a month", "a sixteenth of them"},
	{Cardinality, LedgerTable, siteKey, ledgerRows, ledgerValues, false, "Q14", "as in the other keyspace", "one for each Kafka partition and epoch"},
}

// TableOf finds a table of a keyspace. It panics if there is none: names of tables are constants.
func TableOf(keyspace Keyspace, name string) Table {
	for _, t := range Tables {
		if t.Keyspace == keyspace && t.Name == name {
			return t
		}
	}
	panic("no table " + string(keyspace) + "." + name)
}

// Columns puts the plan's features in the place of KindFeatures.
func (p *Plan) Columns(lists ...[]Column) (out []Column) {
	for _, column := range slices.Concat(lists...) {
		if column.Kind != KindFeatures {
			out = append(out, column)
			continue
		}
		for _, name := range p.features {
			out = append(out, Column{name, KindText})
		}
	}
	return out
}

// ColumnNames are the names of Columns.
func (p *Plan) ColumnNames(lists ...[]Column) (out []string) {
	for _, column := range p.Columns(lists...) {
		out = append(out, column.Name)
	}
	return out
}
