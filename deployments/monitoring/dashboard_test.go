package monitoring_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"footfall/deployments/monitoring"
	"footfall/deployments/monitoring/packtest"
)

func TestDashboardIsUpToDate(t *testing.T) {
	want, err := monitoring.Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(packtest.Read(t, monitoring.DashboardFile), want) {
		t.Error("the dashboard is not what the rows make: run go run ./deployments/monitoring/generate")
	}
}

func TestDashboardIsWellFormed(t *testing.T) {
	panels := packtest.Panels(t)
	ids, titles, taken := map[int]bool{}, map[string]bool{}, map[[2]int]string{}
	var rows []string
	for _, p := range panels {
		if p.ID <= 0 || ids[p.ID] {
			t.Errorf("%s: id %d is not unique", p.Title, p.ID)
		}
		if titles[p.Title] {
			t.Errorf("%s: there are two of this title", p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		at := p.GridPos
		if at.X < 0 || at.W <= 0 || at.H <= 0 || at.X+at.W > 24 {
			t.Errorf("%s lies outside of the grid: %+v", p.Title, at)
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		wellFormed(t, p)
	}
	for _, want := range []string{"Producer", "Kafka", "Counting", "Store", "Truth"} {
		if !slices.Contains(rows, want) {
			t.Errorf("no row %s in %q", want, rows)
		}
	}
}

func wellFormed(t *testing.T, p packtest.Panel) {
	t.Helper()
	if p.Type != "timeseries" {
		t.Errorf("%s is a panel of type %q", p.Title, p.Type)
	}
	if len(p.Description) < 20 || !strings.HasSuffix(p.Description, ".") {
		t.Errorf("%s: description %q", p.Title, p.Description)
	}
	if p.FieldConfig.Defaults.Unit == "" || len(p.FieldConfig.Defaults.Thresholds.Steps) == 0 || len(p.Targets) == 0 {
		t.Errorf("%s has no unit, no thresholds or no expression: %+v", p.Title, p)
	}
	refs := map[string]bool{}
	for _, target := range p.Targets {
		if refs[target.RefID] || target.LegendFormat == "" {
			t.Errorf("%s: expression %s is not unique, or its series have no names", p.Title, target.RefID)
		}
		refs[target.RefID] = true
		chosen := strings.Contains(target.Expr, `job=~"$job"`) || strings.Contains(target.Expr, "ALERTS")
		if !chosen || strings.Contains(target.Expr, "SELECT") || strings.Contains(target.Expr, "JOB") || strings.Contains(target.Expr, "RANGE") {
			t.Errorf("%s does not follow the variables: %s", p.Title, target.Expr)
		}
	}
}

// promtool parses rules, so the panels' expressions are given to it as such.
func TestExpressionsParse(t *testing.T) {
	file := packtest.Groups{Groups: []packtest.Group{{Name: "expressions"}}}
	expressions := packtest.Expressions(t, "1m")
	for _, where := range slices.Sorted(maps.Keys(expressions)) {
		rule := packtest.Rule{Record: "parsed", Expr: packtest.Unfiltered(expressions[where]), Labels: map[string]string{"at": where}}
		file.Groups[0].Rules = append(file.Groups[0].Rules, rule)
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "expressions.yml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	tool(t, "promtool", "check", "rules", path)
}
