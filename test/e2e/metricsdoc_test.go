package e2e

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

var (
	documented = regexp.MustCompile("(?m)^\\| `(footfall_[a-z_]+)` \\| ([a-z]+) \\|([^|]*)\\|")
	typeLine   = regexp.MustCompile(`(?m)^# TYPE (footfall_[a-z_]+) ([a-z]+)$`)
	sampleLine = regexp.MustCompile(`(?m)^(footfall_[a-z_]+)(?:\{(.*)\})? \S+$`)
	labelName  = regexp.MustCompile(`([a-z_]+)="(?:[^"\\]|\\.)*"`)
)

// documentedMetrics are the tables of docs/metrics.md, by section: type and labels of each metric. "" is what all have.
func documentedMetrics(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "metrics.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{}
	for i, section := range strings.Split(string(text), "\n## ") {
		title, body, _ := strings.Cut(section, "\n")
		if i == 0 {
			title, body = "", section
		}
		out[title] = map[string]string{}
		for _, row := range documented.FindAllStringSubmatch(body, -1) {
			labels := strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune(" `,", r) })
			out[title][row[1]] = row[2] + " " + strings.Join(labels, ",")
		}
	}
	return out
}

// toldMetrics are type and labels of each metric in an answer of /metrics.
func toldMetrics(t *testing.T, text string) map[string]string {
	t.Helper()
	types, out := map[string]string{}, map[string]string{}
	for _, m := range typeLine.FindAllStringSubmatch(text, -1) {
		types[m[1]] = m[2]
	}
	for _, m := range sampleLine.FindAllStringSubmatch(text, -1) {
		name := m[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); base != name && types[base] == "histogram" {
				name = base
			}
		}
		var labels []string
		for _, l := range labelName.FindAllStringSubmatch(m[2], -1) {
			if l[1] != "le" {
				labels = append(labels, l[1])
			}
		}
		slices.Sort(labels)
		is := types[name] + " " + strings.Join(labels, ",")
		if before, known := out[name]; known && before != is {
			t.Errorf("%s is %s and %s", name, before, is)
		}
		out[name] = is
	}
	return out
}

// wantMetrics compares what a process tells with its documents, both ways, and asks promtool. It waits: some show when they are first known.
func wantMetrics(t *testing.T, name, url string, want ...map[string]string) {
	t.Helper()
	all := map[string]string{}
	for _, table := range want {
		maps.Copy(all, table)
	}
	if len(all) < 8 {
		t.Errorf("%s: only %d metrics are documented", name, len(all))
	}
	var text string
	harness.Within(t, time.Minute, "the metrics of "+name+" being those of docs/metrics.md", func() (err error) {
		_, text = harness.Get(t, url+"/metrics")
		got := toldMetrics(t, text)
		for metric, is := range got {
			if all[metric] != is {
				err = errors.Join(err, fmt.Errorf("%s is %q; docs/metrics.md has %q", metric, is, all[metric]))
			}
		}
		for metric := range all {
			if got[metric] == "" {
				err = errors.Join(err, fmt.Errorf("docs/metrics.md has %s, but /metrics does not", metric))
			}
		}
		return err
	})
	check := exec.Command("promtool", "check", "metrics")
	check.Stdin = strings.NewReader(text)
	if printed, err := check.CombinedOutput(); err != nil || len(printed) > 0 {
		t.Errorf("%s: promtool check metrics: %v\n%s", name, err, printed)
	}
}

// wantProfiles asks for profiles, which only an operator's listener has.
func wantProfiles(t *testing.T, url string, want int) {
	t.Helper()
	if status, _ := harness.Get(t, url+"/debug/pprof/"); status != want {
		t.Errorf("%s/debug/pprof/ is answered with %d, want %d", url, status, want)
	}
}

// The tables of docs/metrics.md are what the processes tell, Prometheus finds nothing wrong with it, and partitions have series where they are
// counted and nowhere else.
func TestMetricsAreAsDocumented(t *testing.T) {
	harness.NeedDebian(t, "prometheus") // which brings promtool
	t.Parallel()
	docs := documentedMetrics(t)
	all := docs[""]
	t.Run("one process", func(t *testing.T) {
		t.Parallel()
		d := newEmbedded(t)
		o, _ := send(t, d, load.Make(7, 50), load.Order(7, 50), nil)
		d.settle(t, o)
		harness.Get(t, d.reader+"/v1/stats/links")
		counting := maps.Clone(docs["Consumer"])
		maps.DeleteFunc(counting, func(name, _ string) bool { return strings.HasPrefix(name, "footfall_store_") })
		wantMetrics(t, "embedded", d.admin, all, counting, docs["Producer"], docs["Reader"])
	})
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		d := prepareReal(t, byDefault)
		d.env = append(d.env, "FOOTFALL_HTTP_PPROF=true")
		d.open(t, 0, "FOOTFALL_LINKS_ENABLED=true")
		first := d.addConsumer(t)
		reader, admin := d.startReaderWithMetrics(t)
		o, _ := send(t, d, load.Make(8, 600), load.Order(8, 600), nil)
		d.settle(t, o)
		harness.Get(t, reader+"/v1/stats/links")
		wantMetrics(t, "producer", d.admin, all, docs["Producer"])
		wantMetrics(t, "reader", admin, all, docs["Reader"])
		d.owns(t, first)
		wantMetrics(t, "consumer", first.url, all, docs["Consumer"])
		for _, url := range []string{d.admin, admin, first.url} {
			wantProfiles(t, url, http.StatusOK)
		}
		for _, url := range []string{d.url, reader} {
			wantProfiles(t, url, http.StatusNotFound)
		}
		second := d.addConsumer(t)
		d.owns(t, first, second)
		stop(t, first.Process)
		d.owns(t, second)
	})
}

// owns waits until each partition has its series at exactly one of the consumers, and they say that they own all partitions together.
func (d *real) owns(t *testing.T, consumers ...*consumer) {
	t.Helper()
	perPartition := []string{"footfall_uncounted_age_seconds", "footfall_lag_events", "footfall_newest_counted_timestamp_seconds", "footfall_epoch"}
	harness.Within(t, time.Minute, "all partitions having an owner", func() error {
		series, owned, exist := map[string]int{}, 0., 0.
		for i, c := range consumers {
			got, err := process.Metrics(t.Context(), c.url)
			if err != nil {
				return err
			}
			mine := 0.
			for sample, value := range got {
				switch name, _, _ := strings.Cut(sample, "{"); {
				case slices.Contains(perPartition, name):
					series[sample]++
				case name == "footfall_partitions_owned":
					mine += value
				case name == "footfall_topic_partitions" && i == 0:
					exist += value
				}
			}
			if owned += mine; mine == 0 {
				return fmt.Errorf("%s owns nothing", c.Name)
			}
		}
		if owned != exist || exist != 12 || len(series) != len(perPartition)*12 {
			return fmt.Errorf("%v of %v partitions are owned, and have %d series", owned, exist, len(series))
		}
		for sample, n := range series {
			if n != 1 {
				return fmt.Errorf("%d consumers tell %s", n, sample)
			}
		}
		return nil
	})
}
