package monitoring_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"footfall/deployments/monitoring"
	"footfall/deployments/monitoring/packtest"
	"footfall/test/harness"
)

// tool runs a program of Debian's packages of Prometheus or Alertmanager, which make prometheus installs.
func tool(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		err = fmt.Errorf("%s is missing: run make prometheus (%w)", name, err)
	}
	harness.Need(t, err)
	if printed, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, printed)
	}
}

func TestConfigurationsAreValid(t *testing.T) {
	t.Run("prometheus", func(t *testing.T) { tool(t, "promtool", "check", "config", "prometheus/prometheus.yml") }) // its rules too
	t.Run("alertmanager", func(t *testing.T) { tool(t, "amtool", "check-config", "alertmanager/alertmanager.yml") })
}

// Each alert fires when it should and is silent when it should be, as promtool plays it.
func TestAlertsFireAndAreSilent(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, file := range packtest.Files(t, monitoring.RuleTests) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			tool(t, "promtool", "test", "rules", file)
		})
	}
}

// check is a question of a unit test about alerts, and what it expects.
type check struct {
	Expr    string `yaml:"expr"`
	Samples []struct {
		Labels string `yaml:"labels"`
	} `yaml:"exp_samples"`
}

var alertName = regexp.MustCompile(`alertname=~?"([^"]+)"`)

// Every rule of an alert is shown firing, with its severity, and every alert is shown silent.
func TestEveryAlertHasBothTests(t *testing.T) {
	var fires []string
	silent := map[string]bool{}
	for _, file := range packtest.Files(t, monitoring.RuleTests) {
		var suite struct {
			Tests []struct {
				Checks []check `yaml:"promql_expr_test"`
			} `yaml:"tests"`
		}
		if err := yaml.Unmarshal(packtest.Read(t, file), &suite); err != nil {
			t.Fatal(err)
		}
		for _, test := range suite.Tests {
			for _, c := range test.Checks {
				for _, sample := range c.Samples {
					fires = append(fires, sample.Labels)
				}
				found := alertName.FindStringSubmatch(c.Expr)
				if found == nil {
					t.Fatalf("%s: %s names no alert", file, c.Expr)
				}
				for name := range strings.SplitSeq(found[1], "|") {
					silent[name] = silent[name] || len(c.Samples) == 0
				}
			}
		}
	}
	for _, rule := range alerts(t) {
		if !slices.ContainsFunc(fires, func(labels string) bool { return firing(labels, rule) }) {
			t.Errorf("no unit test shows %s %v firing", rule.Alert, rule.Labels)
		}
		if !silent[rule.Alert] {
			t.Errorf("no unit test shows %s silent", rule.Alert)
		}
	}
}

// firing tells whether a sample of a unit test is this rule's alert.
func firing(labels string, rule packtest.Rule) bool {
	has := func(name, value string) bool { return strings.Contains(labels, fmt.Sprintf(`%s=%q`, name, value)) }
	for name, value := range rule.Labels {
		if !has(name, value) {
			return false
		}
	}
	return has("alertname", rule.Alert) && has("alertstate", "firing")
}

func alerts(t *testing.T) []packtest.Rule {
	t.Helper()
	return slices.DeleteFunc(packtest.Rules(t), func(r packtest.Rule) bool { return r.Alert == "" })
}

// Whoever is woken learns from an alert what happened, how bad it is, and where to read on.
func TestAlertsSayWhatToDo(t *testing.T) {
	for _, rule := range alerts(t) {
		if !strings.HasPrefix(rule.Alert, "Footfall") {
			t.Errorf("%s does not say whose alert it is", rule.Alert)
		}
		if severity := rule.Labels["severity"]; severity != "critical" && severity != "warning" {
			t.Errorf("%s has severity %q", rule.Alert, severity)
		}
		if want := "docs/runbook.md#" + strings.ToLower(rule.Alert); rule.Annotations["runbook_url"] != want {
			t.Errorf("%s has runbook_url %q, want %s", rule.Alert, rule.Annotations["runbook_url"], want)
		}
		if len(rule.Annotations["summary"]) < 20 || len(rule.Annotations["description"]) < 60 {
			t.Errorf("%s says too little: %v", rule.Alert, rule.Annotations)
		}
	}
}

// What rules and panels read of other rules is recorded, and what is recorded is read.
func TestRecordedNamesAreKnown(t *testing.T) {
	recorded := map[string]bool{}
	for _, rule := range packtest.Rules(t) {
		if rule.Record != "" {
			recorded[rule.Record] = false
		}
	}
	for where, expr := range packtest.Expressions(t, "1m") {
		for _, name := range packtest.Metrics(expr) {
			if _, known := recorded[name]; known {
				recorded[name] = true
			} else if strings.Contains(name, ":") {
				t.Errorf("%s reads %s, which nothing records", where, name)
			}
		}
	}
	for name, read := range recorded {
		if !read && !slices.Contains(forOperators, name) {
			t.Errorf("nothing reads %s", name)
		}
	}
}

// forOperators are recorded for whoever asks Prometheus by hand, or scales by them.
var forOperators = []string{"footfall:events:rate5m", "footfall:event_age_seconds:p99_5m"}

// Every metric of ours that the pack reads is in docs/metrics.md, which test/e2e holds against what processes show.
func TestMetricsAreDocumented(t *testing.T) {
	docs, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	suffix := regexp.MustCompile(`_(bucket|count|sum)$`)
	for where, expr := range packtest.Expressions(t, "1m") {
		for _, name := range packtest.Metrics(expr) {
			known := strings.Contains(string(docs), "`"+name+"`") || strings.Contains(string(docs), "`"+suffix.ReplaceAllString(name, "")+"`")
			if strings.HasPrefix(name, "footfall_") && !known {
				t.Errorf("%s names %s, which docs/metrics.md does not have", where, name)
			}
		}
	}
}
