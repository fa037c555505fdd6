package models

import (
	"slices"
	"strconv"
	"strings"
)

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

// Field is one field of the messages of an event. All that is said of fields elsewhere is compared with ClickFields and VisitFields by tests:
// structs, codecs, checks, counters, and what packs events. Tests also write models/schema, producer/assets/openapi.yaml and docs/api.md:
//
//	go test ./models -run TestFieldsAreDescribed -update
type Field struct {
	Name     string // in JSON
	Type     string // "string", "integer" or "boolean"
	Min, Max int64  // of an integer; of a string Max is in bytes
	Pattern  string // of a string
	Required bool   // in a message on a topic
	By       Filler
	Form     string // its name in forms and pixels; empty: they do not have it
	Counted  bool   // what the event is worth depends on it
	Example  string // as JSON
	Means    string
	OnTopic  string // what it means in a message on a topic, if that is not the same
	Without  string // what holds if the sender leaves it out
}

// Filler is who fills in a field.
type Filler int

// Who fills in a field.
const (
	BySender   Filler = iota // nobody else: an event without a required one is refused
	ByEither                 // the producer, unless the sender does
	ByProducer               // nobody else: an event with one is refused
)

var (
	vField = Field{
		Name: "v", Type: "integer", Min: 1, Max: Version, Required: true, By: ByEither, Example: "1",
		Means: "the version of the event", Without: "1",
	}
	idField = Field{
		Name: "id", Type: "string", Max: MaxID, Required: true, By: ByEither, Form: "id", Example: `"018f3a5e-7b1c-7000-8000-000000000004"`,
		Means: "its own id; an event of the same visitor that comes again under it is not counted again", Without: "the producer makes one up",
	}
	tsField = Field{
		Name: "ts", Type: "integer", Min: int64(Earliest), Max: int64(Latest), Required: true, By: ByEither, Form: "timestamp", Counted: true,
		Example: "1522802128000", Means: "when it happened, in Unix milliseconds; forms and pixels have `timestamp`, in Unix seconds",
		OnTopic: "when it happened, in Unix milliseconds", Without: "now",
	}
)

// OtherAgent is the name of what is none of the listed.
const OtherAgent = "other"

// Browsers, Systems and Devices are the names that producers write. Each is a row of a link for ever. A browser inside an app that is not listed
// is in-app.
var (
	Browsers = []string{
		"Chrome", "Edge", "Facebook", "Firefox", "Instagram", "Internet Explorer", "Opera", "Safari", "Samsung Internet", "TikTok", "UC Browser",
		"WeChat", "Yandex Browser", "in-app", OtherAgent,
	}
	Systems = []string{"Android", "ChromeOS", "HarmonyOS", "iOS", "KaiOS", "Linux", "macOS", "Tizen", "webOS", "Windows", OtherAgent}
	Devices = []string{"console", "desktop", "phone", "tablet", "tv", OtherAgent}
)

// AgentFields are the names that a visitor's user agent tells, in the order of Agent.Names.
var AgentFields = []Field{
	fromAgent("browser", "Firefox", Browsers),
	fromAgent("system", "Linux", Systems),
	fromAgent("device", "desktop", Devices),
}

// ClickFields are the fields of a click, in the order of its message.
var ClickFields = append([]Field{
	vField,
	idField,
	{
		Name: "short_url", Type: "string", Max: MaxShortURL, Required: true, By: BySender, Form: "short_url", Counted: true, Example: `"abc"`,
		Means: "the link",
	},
	{
		Name: "ip", Type: "string", Max: MaxIP, Required: true, By: ByEither, Counted: true, Example: `"203.0.113.7"`,
		Means:   "the visitor's address, reported by a service; of IPv6 the /64 network counts (`privacy.ipv6_prefix`)",
		OnTopic: "the visitor's address in canonical form (RFC 5952 for IPv6), else it counts as two visitors; producers write the /64 network of an IPv6 address, such as 2001:db8:1:2::",
		Without: "the click is the sender's own: the producer takes address, country and user agent from the request",
	},
	{
		Name: "country", Type: "string", Pattern: "^([A-Z]{2})?$", By: ByEither, Counted: true, Example: `"IT"`,
		Means: "two letters of ISO 3166", OnTopic: "ISO 3166 alpha-2; absent or empty counts as " + UnknownCountry, Without: "looked up by `ip`",
	},
	tsField,
	{
		Name: "referrer", Type: "string", Max: MaxReferrer, By: BySender, Form: "referrer", Counted: true, Example: `"news.example"`,
		Means:   `where the click came from; the producer keeps a bare name as it is, and cuts anything else (it has one of / \ ? # @ : %) to its host, in lower case`,
		OnTopic: "where the click came from; absent or empty: a direct click", Without: "a direct click, counted under `''`",
	},
	{
		Name: "ua", Type: "string", Max: MaxUA, By: ByEither, Example: `"Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"`,
		Means:   "the visitor's user agent; the producer takes `bot`, `browser`, `system` and `device` from it and drops it, unless `privacy.keep_user_agent` is set",
		OnTopic: "the visitor's user agent", Without: "that of the request, if `ip` is absent too",
	},
	{
		Name: "bot", Type: "boolean", By: ByEither, Counted: true, Example: "true",
		Means: "whether it is a bot's, whose clicks are counted apart", OnTopic: "whether it is a bot's, which counts in botcounter and nowhere else",
		Without: "judged by `ua`",
	},
	{
		Name: "amount", Type: "integer", Min: -MaxAmount, Max: MaxAmount, By: BySender, Form: "amount", Counted: true, Example: "-1999",
		Means:   "what the click was worth, " + amountWords + "; 0 and negative amounts count",
		OnTopic: "what the click was worth, " + amountWords + "; absent: the click is not in amountcounters", Without: "the click has no amount",
	},
}, AgentFields...)

// fromAgent is a field that the producer finds in the user agent.
func fromAgent(name, example string, names []string) Field {
	return Field{
		Name: name, Type: "string", Max: MaxAgentName, By: ByProducer, Counted: true, Example: strconv.Quote(example),
		Means:   "the visitor's " + name + " by the user agent: " + strings.Join(names, ", "),
		OnTopic: "the visitor's " + name + "; producers write one of " + strings.Join(names, ", "),
		Without: "only the producer fills it in, if there is a user agent and it is not a bot's",
	}
}

// VisitFields are the fields that all visits have, in the order of their message. Plan.Fields has the features, too.
var VisitFields = []Field{
	vField,
	idField,
	{
		Name: "siteId", Type: "string", Max: MaxSiteID, Required: true, By: BySender, Form: "siteId", Counted: true, Example: `"site1"`,
		Means:   "the site; a form or a pixel need not name it where the key, or the key and the origin together, belong to one site only",
		OnTopic: "the site",
	},
	{
		Name: "guid", Type: "string", Max: MaxGUID, Required: true, By: BySender, Form: "guid", Counted: true,
		Example: `"962e0c3a-6c08-4160-9196-f0050faffe62"`, Means: "the visitor: an id that a page or an app keeps for a person",
	},
	tsField,
}

// Fields are the fields of a visit, in the order of its message.
func (p *Plan) Fields() []Field {
	out := append([]Field{}, VisitFields...)
	for _, name := range p.features {
		out = append(out, Field{
			Name: name, Type: "string", Max: MaxFeature, By: BySender, Form: name, Counted: true, Example: `"facebook.com"`,
			Means:   "what visits are divided by, under the name that the setting `features` gives it",
			OnTopic: "absent or empty: the visit counts under no value of this feature", Without: "the value is `''`",
		})
	}
	return out
}
