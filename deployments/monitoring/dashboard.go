package monitoring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// The dashboard's grid is 24 columns wide.
const (
	columns     = 24
	panelWidth  = 8
	panelHeight = 8
)

// row is a heading and the panels below it, three beside each other.
type row struct {
	title  string
	panels []panel
}

// panel is one timeseries panel.
type panel struct {
	title string
	about string // what it shows, and when to worry
	unit  string // as Grafana names it
	query []query

	worry, alarm float64 // where lines are drawn; 0: nowhere
	below        bool    // worry below them, not above
	stacked      bool    // parts of a whole
}

// query is an expression and the name of its series. In the expression SELECT stands for the chosen jobs and instances, JOB for the chosen
// jobs of what was recorded, and RANGE for a range that fits the scrape interval and the zoom.
type query struct{ expr, legend string }

// one is a panel's only query.
func one(expr, legend string) []query { return []query{{expr, legend}} }

// quantiles are p50 and p99 of a histogram, by labels.
func quantiles(histogram, legend string, by ...string) []query {
	var out []query
	for _, q := range []int{50, 99} {
		out = append(out, query{
			fmt.Sprintf("histogram_quantile(0.%02d, sum by (%s) (rate(%s_bucket{SELECT}[RANGE])))", q, strings.Join(append(by, "le"), ", "), histogram),
			strings.TrimSpace(fmt.Sprintf("p%d %s", q, legend)),
		})
	}
	return out
}

var variables = strings.NewReplacer("SELECT", `job=~"$job", instance=~"$instance"`, "JOB", `job=~"$job"`, "RANGE", "$__rate_interval")

// Dashboard is the dashboard as Grafana reads it.
func Dashboard() ([]byte, error) {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	to.SetIndent("", "  ")
	if err := to.Encode(dashboard()); err != nil {
		return nil, fmt.Errorf("writing the dashboard: %w", err)
	}
	return text.Bytes(), nil
}

func dashboard() *grafanaDashboard {
	d := &grafanaDashboard{
		UID: "footfall", Title: "footfall", Tags: []string{"footfall"},
		Description:   "Events from the producer to the counters. Each alert is explained in docs/runbook.md.",
		SchemaVersion: 39, Timezone: "browser", Refresh: "30s", GraphTooltip: 1, Time: grafanaTime{"now-3h", "now"},
		Templating: grafanaList{[]grafanaVariable{
			{Name: "datasource", Label: "Prometheus", Type: "datasource", Query: "prometheus"},
			labelVariable("job", "label_values(footfall_build_info, job)"),
			labelVariable("instance", `label_values(footfall_build_info{job=~"$job"}, instance)`),
		}},
	}
	y := 0
	id := func() int { return len(d.Panels) + 1 }
	for _, r := range rows() {
		d.Panels = append(d.Panels, grafanaPanel{ID: id(), Type: "row", Title: r.title, GridPos: grafanaGrid{1, columns, 0, y}})
		y++
		for i, p := range r.panels {
			if i > 0 && i%(columns/panelWidth) == 0 {
				y += panelHeight
			}
			d.Panels = append(d.Panels, p.grafana(id(), grafanaGrid{panelHeight, panelWidth, i % (columns / panelWidth) * panelWidth, y}))
		}
		y += panelHeight
	}
	return d
}

func rows() []row {
	return []row{producer, kafka, counting, store, truth, reader, processes}
}

func labelVariable(name, query string) grafanaVariable {
	return grafanaVariable{
		Name: name, Label: name, Type: "query", Query: query, Refresh: 2, Multi: true, IncludeAll: true, AllValue: ".*", Sort: 1,
		Datasource: chosen(), Current: &grafanaCurrent{Text: "All", Value: "$__all"},
	}
}

func (p panel) grafana(id int, at grafanaGrid) grafanaPanel {
	out := grafanaPanel{ID: id, Type: "timeseries", Title: p.title, Description: p.about, GridPos: at, Datasource: chosen()}
	for i, q := range p.query {
		out.Targets = append(out.Targets, grafanaTarget{
			RefID: string(rune('A' + i)), Expr: variables.Replace(q.expr), LegendFormat: q.legend, Range: true, EditorMode: "code", Datasource: *chosen(),
		})
	}
	defaults := grafanaDefaults{Unit: p.unit, Min: new(float64), Thresholds: p.thresholds()}
	defaults.Custom.DrawStyle, defaults.Custom.LineWidth, defaults.Custom.FillOpacity, defaults.Custom.ShowPoints = "line", 1, 8, "never"
	defaults.Custom.ThresholdsStyle.Mode, defaults.Custom.Stacking.Mode = "off", "none"
	if p.stacked {
		defaults.Custom.Stacking.Mode, defaults.Custom.FillOpacity = "normal", 40
	}
	if p.worry > 0 || p.alarm > 0 {
		defaults.Custom.ThresholdsStyle.Mode = "dashed"
	}
	out.FieldConfig = &grafanaFieldConfig{Defaults: defaults, Overrides: []struct{}{}}
	out.Options = &grafanaOptions{
		Legend:  grafanaLegend{DisplayMode: "table", Placement: "bottom", ShowLegend: true, Calcs: []string{"lastNotNull", "max"}},
		Tooltip: grafanaTooltip{Mode: "multi", Sort: "desc"},
	}
	return out
}

func (p panel) thresholds() grafanaThresholds {
	steps := []grafanaStep{{Color: "green"}}
	add := func(color string, from float64) {
		if from > 0 {
			steps = append(steps, grafanaStep{Color: color, Value: &from})
		}
	}
	if p.below {
		steps[0].Color = "red"
		add("orange", p.alarm)
		add("green", p.worry)
	} else {
		add("orange", p.worry)
		add("red", p.alarm)
	}
	return grafanaThresholds{Mode: "absolute", Steps: steps}
}

// chosen is the data source that the viewer chose.
func chosen() *grafanaSource { return &grafanaSource{Type: "prometheus", UID: "${datasource}"} }

// top limits a query to the n highest series, for panels of what may have hundreds.
func top(n int, expr string) string { return "topk(" + strconv.Itoa(n) + ", " + expr + ")" }
