package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// MaxFeatures is how many features a plan may have: each doubles the rows that a visit touches.
const MaxFeatures = 6

// MaxFeatureName is the most bytes that a feature's name may have, as in Cassandra.
const MaxFeatureName = 48

// DefaultFeatures are those of the schema that analysts know.
func DefaultFeatures() []string { return []string{"feature1", "feature2"} }

// AllMetrics are the counters that a plan chooses from, in the order in which they are recorded and printed: the metric types of Counts, then the
// dimensions of monthcounters.
func AllMetrics() (names []string) {
	for _, c := range Counters {
		if c.Chosen {
			names = append(names, c.Name)
		}
	}
	return names
}

// Plan says what is kept: the names of visits' features, and the metrics. The names are columns of the tables and fields of the
// messages, so tables keep their plan for as long as they live. Plans are immutable and safe for concurrent use.
type Plan struct {
	features []string
	metrics  []string
	uniques  []interval // those whose metric is kept
	views    []interval
	months   []string     // dimensions of clicks by month
	wire     reflect.Type // the struct of a visit's message: visitJSON, and a string for each feature
}

var defaultPlan = mustPlan()

// DefaultPlan has DefaultFeatures and AllMetrics. It is the plan of a visit that has none.
func DefaultPlan() *Plan { return defaultPlan }

func mustPlan() *Plan {
	p, err := NewPlan(DefaultFeatures(), AllMetrics())
	if err != nil {
		panic(err)
	}
	return p
}

// NewPlan makes a plan. It returns an error if a name or a metric is not allowed. The order of features is that of the columns; the order of
// metrics does not matter.
func NewPlan(features, metrics []string) (*Plan, error) {
	if err := checkFeatures(features); err != nil {
		return nil, err
	}
	if err := checkMetrics(metrics); err != nil {
		return nil, err
	}
	p := &Plan{features: slices.Clone(features), wire: wireOf(features)}
	for _, metric := range AllMetrics() {
		if slices.Contains(metrics, metric) {
			p.metrics = append(p.metrics, metric)
		}
	}
	kept := func(all []interval) (out []interval) {
		for _, in := range all {
			if slices.Contains(p.metrics, in.metric) {
				out = append(out, in)
			}
		}
		return out
	}
	p.uniques, p.views = kept(uniques), kept(views)
	for _, c := range p.Counters() {
		if c.Table == MonthCounters {
			p.months = append(p.months, c.Name)
		}
	}
	return p, nil
}

// Features returns the names, in the order of the columns. The caller must not change them.
func (p *Plan) Features() []string { return p.features }

// Metrics returns the kept metrics, in the order of AllMetrics. The caller must not change them.
func (p *Plan) Metrics() []string { return p.metrics }

// Equal tells whether both plans keep the same.
func (p *Plan) Equal(other *Plan) bool {
	return slices.Equal(p.features, other.features) && slices.Equal(p.metrics, other.metrics)
}

// String is the plan as in a configuration file.
func (p *Plan) String() string {
	return "features: [" + strings.Join(p.features, ", ") + "], metrics: [" + strings.Join(p.metrics, ", ") + "]"
}

// planRecord is how a plan is recorded beside its tables.
type planRecord struct {
	Features []string `json:"features"`
	Metrics  []string `json:"metrics"`
}

// Record returns the text that is recorded beside the tables.
func (p *Plan) Record() string {
	text, err := json.Marshal(planRecord{p.features, p.metrics})
	if err != nil {
		panic(err) // names always encode
	}
	return string(text)
}

// ReadPlan reads a text that Record returned.
func ReadPlan(record string) (*Plan, error) {
	var r planRecord
	if err := json.Unmarshal([]byte(record), &r); err != nil {
		return nil, fmt.Errorf("reading the recorded plan: %w", err)
	}
	p, err := NewPlan(r.Features, r.Metrics)
	if err != nil {
		return nil, fmt.Errorf("reading the recorded plan: %w", err)
	}
	return p, nil
}

var featureName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func checkFeatures(names []string) error {
	if len(names) < 1 || len(names) > MaxFeatures {
		return fmt.Errorf("features: %d names: want 1 to %d", len(names), MaxFeatures)
	}
	for i, name := range names {
		switch {
		case !featureName.MatchString(name) || len(name) > MaxFeatureName:
			return fmt.Errorf("features: %q is no name: want a-z, then a-z, 0-9 and _, at most %d in all", name, MaxFeatureName)
		case slices.Contains(names[:i], name):
			return fmt.Errorf("features: %s is there twice", name)
		case slices.Contains(taken, name):
			return fmt.Errorf("features: %s is the name of another column or of another field of an event: choose another name", name)
		case slices.Contains(reserved, name):
			return fmt.Errorf("features: %s is a reserved word of CQL or SQL, so queries could not use it: choose another name", name)
		}
	}
	return nil
}

func checkMetrics(metrics []string) error {
	if len(metrics) == 0 {
		return errors.New("metrics: none: want some of " + strings.Join(AllMetrics(), ", "))
	}
	for i, metric := range metrics {
		switch {
		case !slices.Contains(AllMetrics(), metric):
			return fmt.Errorf("metrics: there is no %q: want some of %s", metric, strings.Join(AllMetrics(), ", "))
		case slices.Contains(metrics[:i], metric):
			return fmt.Errorf("metrics: %s is there twice", metric)
		}
	}
	return nil
}

// taken are the other columns of the tables that have features as columns, and the other fields of events. They are in lower case: JSON
// decoders ignore case.
var taken = []string{
	"siteid", "interval_size", "interval_start", "bucket", "guid", "month_interval_start", "metric_type", "visits",
	"topic", "kafka_partition", "kafka_offset", "kind", "epoch", "from_offset", "to_offset",
	"v", "id", "ts", "timestamp", "key", "short_url",
}

// reserved are the words that cannot be a column without quotes: those of CQL, then those that SQLite adds.
var reserved = strings.Fields(`
	add allow alter and apply asc authorize batch begin by columnfamily create delete desc describe drop entries execute from
	full grant if in index infinity insert into is keyspace limit materialized modify nan norecursive not null of on or order
	primary rename revoke schema select set table to token true false truncate unlogged update use using view where with
	all as autoincrement between case cast check collate commit constraint current_date current_time current_timestamp default
	deferrable distinct else escape except exists foreign group having intersect isnull join nothing notnull raise references
	returning then transaction union unique values when`)
