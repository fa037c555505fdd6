// Package packtest reads the monitoring pack for tests: its rules, and the expressions of its rules and panels.
package packtest

import (
	"encoding/json"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"footfall/deployments/monitoring"
)

// Rule is a recording rule or an alert.
type Rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations map[string]string `yaml:"annotations,omitempty"`
}

// Group is rules that Prometheus evaluates one after the other.
type Group struct {
	Name  string `yaml:"name"`
	Rules []Rule `yaml:"rules"`
}

// Groups are a file of rules.
type Groups struct {
	Groups []Group `yaml:"groups"`
}

// Panel is a panel, or a row, of the dashboard.
type Panel struct {
	ID          int
	Type        string
	Title       string
	Description string
	GridPos     struct{ H, W, X, Y int }
	Targets     []struct {
		RefID        string
		Expr         string
		LegendFormat string
	}
	FieldConfig struct {
		Defaults struct {
			Unit       string
			Thresholds struct{ Steps []struct{ Color string } }
		}
	}
}

// Rules are all rules of the pack.
func Rules(t testing.TB) []Rule {
	t.Helper()
	var out []Rule
	for _, name := range Files(t, monitoring.Rules) {
		var file Groups
		if err := yaml.Unmarshal(Read(t, name), &file); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, group := range file.Groups {
			out = append(out, group.Rules...)
		}
	}
	if len(out) < 40 {
		t.Fatalf("found %d rules only", len(out))
	}
	return out
}

// Panels are the rows and panels of the committed dashboard.
func Panels(t testing.TB) []Panel {
	t.Helper()
	var dashboard struct{ Panels []Panel }
	if err := json.Unmarshal(Read(t, monitoring.DashboardFile), &dashboard); err != nil {
		t.Fatal(err)
	}
	if len(dashboard.Panels) < 40 {
		t.Fatalf("found %d panels only", len(dashboard.Panels))
	}
	return dashboard.Panels
}

// Expressions are all expressions of the pack by where they stand. Those of panels have the variables filled in: all jobs and instances, and
// this range.
func Expressions(t testing.TB, rateInterval string) map[string]string {
	t.Helper()
	out := map[string]string{}
	add := func(where, expr string) {
		for out[where] != "" { // an alert may have several rules
			where += "'"
		}
		out[where] = expr
	}
	for _, rule := range Rules(t) {
		add(rule.Record+rule.Alert, rule.Expr)
	}
	variables := strings.NewReplacer("$job", ".*", "$instance", ".*", "$__rate_interval", rateInterval)
	for _, panel := range Panels(t) {
		for _, target := range panel.Targets {
			add("panel "+panel.Title+" "+target.RefID, variables.Replace(target.Expr))
		}
	}
	return out
}

var comparison = regexp.MustCompile(`\s(==|!=|>=|<=|>|<)\s+(bool\s+)?`)

// Unfiltered is an expression whose comparisons tell whether they are true, instead of removing what they are not true for. So the
// expression of an alert has a value, 0 or 1, on a healthy system too.
func Unfiltered(expr string) string { return comparison.ReplaceAllString(expr, " $1 bool ") }

var (
	quoted    = regexp.MustCompile(`"(\\.|[^"\\])*"`)
	inBraces  = regexp.MustCompile(`\{[^}]*\}|\[[^\]]*\]`)
	labelList = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right) *\([^)]*\)`)
	name      = regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*( *\()?`)
	number    = regexp.MustCompile(`\b\d[0-9.eE]*`)
)

// Metrics are the names of the metrics that an expression reads.
func Metrics(expr string) []string {
	for _, drop := range []*regexp.Regexp{quoted, inBraces, labelList, number} {
		expr = drop.ReplaceAllString(expr, " ")
	}
	found := map[string]bool{}
	for _, word := range name.FindAllString(expr, -1) {
		if !strings.HasSuffix(word, "(") && !slices.Contains([]string{"and", "or", "unless", "bool", "offset"}, word) {
			found[word] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Files are the files of a folder of the pack.
func Files(t testing.TB, folder string) []string {
	t.Helper()
	names, err := fs.Glob(monitoring.Files, folder+"/*.yml")
	if err != nil || len(names) == 0 {
		t.Fatalf("no file in %s: %v", folder, err)
	}
	return names
}

// Read is a file of the pack.
func Read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := monitoring.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
