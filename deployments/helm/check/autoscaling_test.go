package check

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"footfall/deployments/helm/autoscale"
)

// The autoscaler scales the consumers, by metrics under the job that the ServiceMonitor gives them, and never above the partitions.
func TestAutoscaling(t *testing.T) {
	scaled := 0
	onEachSet(t, func(t *testing.T, r *rendering) {
		object := r.others["ScaledObject"]
		if object == nil {
			return
		}
		scaled++
		consumer := r.deployments["consumer"]
		if target := dig(object, "spec", "scaleTargetRef", "name"); target != consumer.Name {
			t.Errorf("it scales %v, want %s", target, consumer.Name)
		}
		config, err := autoscale.Read(find(t, r.objects, "ScaledObject").YAML)
		if err != nil {
			t.Fatal(err)
		}
		partitions, ok := dig(r.values, "partitions").(float64)
		if !ok {
			partitions = 6
		}
		if config.Min < 1 || config.Max > int(partitions) || config.Half < config.Min || config.Half > config.Max {
			t.Errorf("%+v with %g partitions", config, partitions)
		}
		job := r.jobs(t)["consumer"]
		for name, query := range queries(t, object) {
			if !strings.Contains(query, fmt.Sprintf(`{namespace="counting",job=%q}`, job)) {
				t.Errorf("%s asks %s, but the job is %s", name, query, job)
			}
		}
		r.evaluate(t, object, config)
	})
	if scaled < 2 {
		t.Errorf("%d value sets have an autoscaler", scaled)
	}
}

// queries are those of the triggers, by name.
func queries(t *testing.T, object map[string]any) map[string]string {
	t.Helper()
	found := map[string]string{}
	triggers, _ := dig(object, "spec", "triggers").([]any)
	for _, trigger := range triggers {
		if dig(trigger, "type") != "prometheus" || dig(trigger, "metadata", "ignoreNullValues") != "false" {
			t.Errorf("%v", trigger)
		}
		found[fmt.Sprint(dig(trigger, "name"))] = fmt.Sprint(dig(trigger, "metadata", "query"))
	}
	if len(found) != 2 {
		t.Fatalf("queries: %v", found)
	}
	return found
}

// metric finds the name of a footfall metric.
var metric = regexp.MustCompile(`footfall_\w+`)

// evaluate lets promtool answer the queries below and above each level. Another deployment's lag, and that of another job, do not count.
func (r *rendering) evaluate(t *testing.T, object map[string]any, c autoscale.Config) {
	t.Helper()
	documented, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	job := r.jobs(t)["consumer"]
	var tests strings.Builder
	tests.WriteString("evaluation_interval: 1m\ntests:\n")
	for name, query := range queries(t, object) {
		series := metric.FindString(query)
		if !strings.Contains(string(documented), "`"+series+"`") {
			t.Errorf("docs/metrics.md does not know %s", series)
		}
		levels := map[string]autoscale.Levels{"lag": c.Lag, "age": c.Age}[name]
		for value, want := range map[float64]int{0: c.Min, levels.Half: c.Min, levels.Half + 1: c.Half, levels.All: c.Half, levels.All + 1: c.Max, 100 * levels.All: c.Max} {
			fmt.Fprintf(&tests, "  - interval: 1m\n    input_series:\n")
			for labels, v := range map[string]float64{
				fmt.Sprintf(`namespace="counting",job="%s",instance="a",partition="0"`, job): value,
				fmt.Sprintf(`namespace="counting",job="%s",instance="b",partition="1"`, job): 0,
				fmt.Sprintf(`namespace="others",job="%s",instance="c",partition="0"`, job):   1e9,
				`namespace="counting",job="footfall-producer",instance="d",partition="0"`:    1e9,
			} {
				fmt.Fprintf(&tests, "      - {series: '%s{%s}', values: '%g'}\n", series, labels, v)
			}
			fmt.Fprintf(&tests, "    promql_expr_test:\n      - {expr: '%s', eval_time: 0m, exp_samples: [{labels: '{}', value: %d}]}\n", query, want)
		}
		// Nobody tells: no answer, rather than a low one.
		fmt.Fprintf(&tests, "  - interval: 1m\n    input_series: []\n    promql_expr_test:\n      - {expr: '%s', eval_time: 0m, exp_samples: []}\n", query)
	}
	_, err = exec.LookPath("promtool")
	need(t, err)
	file := filepath.Join(t.TempDir(), "queries.yml")
	if err := os.WriteFile(file, []byte(tests.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if printed, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, printed)
	}
}
