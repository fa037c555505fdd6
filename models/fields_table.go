package models

import (
	"strconv"
	"strings"
)

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
