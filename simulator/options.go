package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"footfall/simulator/mock"
	"footfall/simulator/tables"
)

// most is the limit of visits, clicks and visitors, which are held in memory.
const most = 10_000_000

// The producer's limits: bytes of names and values, and the first day of events.
const (
	maxName  = 128 // of a site or a link
	maxValue = 1024
)

var firstDay = time.Date(1973, 4, 1, 0, 0, 0, 0, time.UTC)

// ownDir is where results go if nobody says where. Git ignores it.
const ownDir = "simulated"

// options is what the command line asks for.
type options struct {
	help, version bool
	plan          mock.Plan
	out           string

	send string // the producer's address; empty: nothing is sent
	key  string
	rate float64 // 0: no limit

	verify  bool
	store   string // cassandra, embedded, or empty: embedded if its files are there
	metrics []string
	wait    time.Duration
}

// parse reads a command line. Its errors are mistakes of the user and say what to do.
func parse(args []string) (options, error) {
	given, err := arguments(args)
	if err != nil {
		return options{}, err
	}
	_, help := given["help"]
	_, version := given["version"]
	_, verify := given["verify"]
	o := options{help: help, version: version, verify: verify}
	if help || version {
		return o, nil
	}
	r := &reader{given: given}
	r.require("from", "num_guids", "num_samples", "site_id", "to", "referers")
	o.plan = r.plan()
	o.out = r.text("out", ownDir)
	o.send, o.key = r.text("send", ""), r.text("key", "")
	o.rate = r.number("rate", 0, 0.001, 1e9)
	o.store = r.text("store", "")
	o.metrics = r.list("metrics", tables.Metrics)
	o.wait = r.duration("wait", time.Minute)
	r.together(&o)
	return o, r.err
}

// together checks options that depend on each other.
func (r *reader) together(o *options) {
	producer, err := url.Parse(o.send)
	switch {
	case o.send != "" && (err != nil || producer.Host == "" || producer.Scheme != "http" && producer.Scheme != "https"):
		r.fail("--send wants the address of a producer, such as http://127.0.0.1:8080")
	case !slices.Contains([]string{"", "cassandra", "embedded"}, o.store):
		r.fail("--store is cassandra or embedded, not %q", o.store)
	case o.verify && o.send == "" && r.given["seed"] == nil:
		r.fail("--verify without --send compares with events sent before: give the --seed of that run")
	case o.plan.Clicks == 0 && (r.given["links"] != nil || r.given["countries"] != nil):
		r.fail("--links and --countries are for clicks: give their number with --clicks")
	}
	if o.send == "" {
		r.only("--send", "key", "rate")
	}
	if !o.verify {
		r.only("--verify", "store", "metrics", "wait")
	}
	for _, m := range o.metrics {
		if !slices.Contains(tables.Metrics, m) {
			r.fail("--metrics %q: want some of %s", m, strings.Join(tables.Metrics, ", "))
		}
	}
	o.send = strings.TrimRight(o.send, "/")
}

// reader parses the values of options and keeps the first error.
type reader struct {
	given map[string][]string
	err   error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

func (r *reader) require(names ...string) {
	var missing []string
	for _, name := range names {
		if r.given[name] == nil {
			missing = append(missing, "--"+name)
		}
	}
	if missing != nil {
		r.fail("missing required options: %s", strings.Join(missing, ", "))
	}
}

// only refuses options that have no effect without another.
func (r *reader) only(with string, names ...string) {
	for _, name := range names {
		if r.given[name] != nil {
			r.fail("--%s has no effect without %s", name, with)
		}
	}
}

func (r *reader) text(name, fallback string) string {
	return r.list(name, []string{fallback})[0]
}

// list returns the values of an option. They must be UTF-8 without control characters: a line break would break the output files, which
// have a line for each row.
func (r *reader) list(name string, fallback []string) []string {
	values := r.given[name]
	if values == nil {
		return fallback
	}
	for _, v := range values {
		if !utf8.ValidString(v) || strings.ContainsFunc(v, unicode.IsControl) {
			r.fail("--%s %q: want UTF-8 without control characters", name, v)
		}
	}
	return values
}

func (r *reader) whole(name string, fallback, least, most uint64) uint64 {
	text := r.text(name, "")
	if text == "" && r.given[name] == nil {
		return fallback
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n < least || n > most {
		r.fail("--%s %q: want a whole number from %d to %d", name, text, least, most)
	}
	return n
}

func (r *reader) number(name string, fallback, least, most float64) float64 {
	text := r.text(name, "")
	if text == "" && r.given[name] == nil {
		return fallback
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= least && n <= most) {
		r.fail("--%s %q: want a number from %g to %g", name, text, least, most)
	}
	return n
}

func (r *reader) duration(name string, fallback time.Duration) time.Duration {
	text := r.text(name, fallback.String())
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		r.fail("--%s %q: want a duration, such as 90s or 5m", name, text)
	}
	return d
}

func (r *reader) date(name string) time.Time {
	text := r.text(name, "")
	t, err := time.Parse(time.DateOnly, text)
	if err != nil && r.given[name] != nil {
		r.fail("--%s %q: want a date as yyyy-MM-dd, such as 2018-10-01", name, text)
	}
	return t
}

// plan reads the options for the events to make.
func (r *reader) plan() mock.Plan {
	p := mock.Plan{
		Site:   r.text("site_id", ""),
		Guids:  int(r.whole("num_guids", 1, 1, most)),
		Visits: int(r.whole("num_samples", 0, 0, most)),
		From:   r.date("from"), To: r.date("to"),
		Zipf:   r.number("zipf", 0, 1.001, 100),
		Seed:   r.whole("seed", 0, 0, 1<<64-1),
		Clicks: int(r.whole("clicks", 0, 0, most)),
	}
	if r.given["seed"] == nil {
		p.Seed = rand.Uint64()
	}
	switch {
	case p.Site == "":
		r.fail("--site_id is empty")
	case len(p.Site) > maxName:
		r.fail("--site_id has %d bytes: the producer takes %d at the most", len(p.Site), maxName)
	case r.given["from"] != nil && p.From.Before(firstDay):
		r.fail("--from %s: the producer takes events from %s on", p.From.Format(time.DateOnly), firstDay.Format(time.DateOnly))
	case !p.From.Before(p.To):
		r.fail("--to must be after --from")
	}
	var err error
	if p.Features, err = features(r.list("features", []string{"2"}), r.list("referers", nil), r.list("landing_pages", nil)); err != nil {
		r.fail("%v", err)
	}
	if p.Clicks == 0 {
		return p
	}
	p.Referers = r.list("referers", nil)
	if slices.ContainsFunc(p.Referers, func(s string) bool { return strings.ContainsAny(s, `/\?#@:%`) }) {
		r.fail("--referers of clicks must be hosts, such as facebook.com: the producer keeps the host only")
	}
	p.Countries = r.list("countries", []string{"IT", "DE", "US", "FR", "BR"})
	for _, c := range p.Countries {
		if !country.MatchString(c) {
			r.fail("--countries %q: want two capital letters, such as IT", c)
		}
	}
	p.Links = r.list("links", nil)
	if slices.ContainsFunc(p.Links, func(s string) bool { return len(s) > maxName }) {
		r.fail("--links: the producer takes %d bytes at the most", maxName)
	}
	for i := 0; i < 5 && r.given["links"] == nil; i++ {
		p.Links = append(p.Links, fmt.Sprintf("%s-%d", p.Site, i+1))
	}
	slices.Sort(p.Links)
	if len(slices.Compact(p.Links)) < len(p.Links) || slices.Contains(p.Links, "") {
		r.fail("--links: one is empty or given twice")
	}
	return p
}

var (
	country = regexp.MustCompile(`^[A-Z]{2}$`)
	column  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,47}$`)
)

// otherNames and words cannot be names of features: the first are other columns and fields, the second are reserved words of CQL or
// SQL. footfall checks names against a list of its own too.
var (
	otherNames = strings.Fields(`siteid interval_size interval_start bucket guid month_interval_start metric_type visits topic
		kafka_partition kafka_offset kind epoch from_offset to_offset v id ts timestamp key short_url`)
	words = strings.Fields(`add all allow alter and apply as asc authorize autoincrement batch begin between by case cast check
		collate columnfamily commit constraint create current_date current_time current_timestamp default deferrable delete desc
		describe distinct drop else entries escape except execute exists false foreign from full grant group having if in index
		infinity insert intersect into is isnull join keyspace limit materialized modify nan norecursive not nothing notnull null
		of on or order primary raise references rename returning revoke schema select set table then to token transaction true
		truncate union unique unlogged update use using values view when where with`)
)

// features combines --features with the values of the first feature, the referers, and of the second, the landing pages.
func features(said, referers, pages []string) ([]mock.Feature, error) {
	if n, err := strconv.Atoi(said[0]); err == nil && len(said) == 1 {
		if n < 1 || n > 6 {
			return nil, fmt.Errorf("--features %d: want 1 to 6", n)
		}
		said = nil
		for i := range n {
			said = append(said, fmt.Sprintf("feature%d", i+1))
		}
	}
	switch {
	case len(said) > 6:
		return nil, errors.New("--features: want 6 at the most")
	case len(said) > 1 && pages == nil:
		return nil, errors.New("missing required options: --landing_pages")
	case len(said) == 1 && pages != nil:
		return nil, errors.New("--landing_pages are the second feature: --features has one only")
	}
	var out []mock.Feature
	for i, text := range said {
		name, values, own := strings.Cut(text, "=")
		f := mock.Feature{Name: name, Values: strings.Split(values, ",")}
		switch {
		case !column.MatchString(name):
			return nil, fmt.Errorf("--features %q: want names of a-z, 0-9 and _", name)
		case slices.Contains(otherNames, name):
			return nil, fmt.Errorf("--features: %s is another field of a visit", name)
		case slices.Contains(words, name):
			return nil, fmt.Errorf("--features: %s is a reserved word of CQL or SQL", name)
		case slices.ContainsFunc(out, func(other mock.Feature) bool { return other.Name == name }):
			return nil, fmt.Errorf("--features: %s is given twice", name)
		case own && i < 2:
			return nil, fmt.Errorf("--features: the values of %s are given with --referers or --landing_pages", name)
		case i == 0:
			f.Values = referers
		case i == 1:
			f.Values = pages
		case !own:
			f.Values = []string{name + "-a", name + "-b", name + "-c"}
		}
		if slices.ContainsFunc(f.Values, func(v string) bool { return len(v) > maxValue }) {
			return nil, fmt.Errorf("a value of %s is too long: the producer takes %d bytes at the most", name, maxValue)
		}
		out = append(out, f)
	}
	return out, nil
}
