package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// checkOf makes a check that finds this.
func checkOf(name string, needs []string, found ...Findings) Check {
	return Check{Name: name, Needs: needs, Run: func(context.Context) Findings { return slices.Concat(found...) }}
}

func names(r Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, string(f.Severity)+" "+f.Check)
	}
	return list
}

func TestTheCauseComesFirst(t *testing.T) {
	report := Examine(t.Context(), "consumer", []Check{
		checkOf("kafka", nil, Fine("")),
		checkOf("store", nil, Faulty("start it", "it is down")),
		checkOf("schema", []string{"store"}, Faulty("", "cannot be read")),
		checkOf("plan", []string{"schema"}, Faulty("", "cannot be read")),
		checkOf("lag", []string{"kafka"}, Doubtful("wait", "grows"), Faulty("more", "is long")),
	})
	want := []string{"fault store", "fault lag", "warning lag", "skipped schema", "skipped plan", "ok kafka"}
	if got := names(report); !slices.Equal(got, want) || report.Healthy {
		t.Errorf("%q, healthy %v; want %q", got, report.Healthy, want)
	}
	if what := report.Findings[4].What; what != "not checked: it needs schema" {
		t.Errorf("%q", what)
	}
	if report := Examine(t.Context(), "consumer", []Check{checkOf("a", nil, Doubtful("", "")), checkOf("b", []string{"a"}, Fine(""))}); !report.Healthy || len(report.Findings) != 2 {
		t.Errorf("a warning keeps others from being checked: %+v", report)
	}
}

// Checks run at the same time, and none holds up the report for longer than its deadline.
func TestChecksThatHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan struct{})
		defer close(forever)
		hang := func(context.Context) Findings { <-forever; return nil }
		heed := func(ctx context.Context) Findings {
			<-ctx.Done()
			return Faulty("", "waited for the server")
		}
		report := Examine(t.Context(), "consumer", []Check{
			{Name: "a", Run: hang, Within: 3 * time.Second}, {Name: "b", Run: hang}, {Name: "c", Run: heed}, checkOf("d", nil, Fine("")),
		})
		if report.Seconds > 6 || len(report.Findings) != 4 {
			t.Errorf("%+v", report)
		}
		if f := report.Findings; f[0].What != "there was no answer within 3s" || f[1].What != "there was no answer within 5s" || f[2].What != "waited for the server" || f[0].Remedy == "" {
			t.Errorf("%+v", f)
		}
	})
}

func TestOutput(t *testing.T) {
	measured := Fine("counted after 700ms")
	measured[0].Seconds = 0.7
	report := Examine(t.Context(), "consumer", []Check{
		checkOf("canary", nil, measured), checkOf("group", nil, Faulty("start a consumer", "no consumer runs <here>")),
	})
	report.Seconds, report.At = 1.25, time.UnixMilli(1700000000500).UTC()
	print := func(asJSON bool, metric string) string {
		t.Helper()
		var lines []string
		if err := report.Print(asJSON, metric, func(line string) { lines = append(lines, line) }); err != nil {
			t.Fatal(err)
		}
		return strings.Join(lines, "\n") + "\n"
	}
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
	f(print(false, ""), `fault    group: no consumer runs <here>
         remedy: start a consumer
ok       canary: counted after 700ms
not healthy: begin with the first fault (2 checks in 1.2 s: faults 1, warnings 0, skipped 0)
`)
	file := filepath.Join(t.TempDir(), "doctor.prom")
	line := print(true, file)
	var back Report
	if err := json.Unmarshal([]byte(line), &back); err != nil || strings.Count(line, "\n") != 1 || !strings.Contains(line, "<here>") {
		t.Errorf("%v: %s", err, line)
	}
	if back.Healthy || len(back.Findings) != 2 || back.Findings[0] != report.Findings[0] || back.Command != "consumer" {
		t.Errorf("%+v", back)
	}
	const metrics = `# HELP footfall_doctor_healthy 1 if the doctor found no fault.
# TYPE footfall_doctor_healthy gauge
footfall_doctor_healthy{command="consumer"} 0
# HELP footfall_doctor_run_timestamp_seconds When the doctor ran.
# TYPE footfall_doctor_run_timestamp_seconds gauge
footfall_doctor_run_timestamp_seconds{command="consumer"} 1700000000.500
# HELP footfall_doctor_duration_seconds How long the doctor took.
# TYPE footfall_doctor_duration_seconds gauge
footfall_doctor_duration_seconds{command="consumer"} 1.250
# HELP footfall_doctor_findings What the doctor found, by check and severity.
# TYPE footfall_doctor_findings gauge
footfall_doctor_findings{command="consumer",check="canary",severity="fault"} 0
footfall_doctor_findings{command="consumer",check="canary",severity="warning"} 0
footfall_doctor_findings{command="consumer",check="canary",severity="skipped"} 0
footfall_doctor_findings{command="consumer",check="group",severity="fault"} 1
footfall_doctor_findings{command="consumer",check="group",severity="warning"} 0
footfall_doctor_findings{command="consumer",check="group",severity="skipped"} 0
# HELP footfall_doctor_measured_seconds What a check measured: the canary from the producer to its counter.
# TYPE footfall_doctor_measured_seconds gauge
footfall_doctor_measured_seconds{command="consumer",check="canary"} 0.700
`
	written, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f(string(written), metrics)
	f(print(false, "-"), metrics)
	if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) != 1 {
		t.Errorf("files that are left: %v, %v", left, err)
	}
	if err := report.Print(false, filepath.Join(t.TempDir(), "none", "x.prom"), func(string) {}); err == nil {
		t.Error("a metric file that cannot be written is no error")
	}
}

func TestFromError(t *testing.T) {
	f := func(text, what, remedy string) {
		t.Helper()
		if got := FromError(errors.New(text), "look")[0]; got.What != what || got.Remedy != remedy || got.Severity != Fault {
			t.Errorf("%q: %q and %q", text, got.What, got.Remedy)
		}
	}
	f("keyspace x has no schema: run `consumer migrate`", "keyspace x has no schema", "run `consumer migrate`")
	f("was it created anew? Use new tables", "was it created anew", "Use new tables")
	f("it ended: connection reset", "it ended: connection reset", "look")
	f("a is b. Set it back (kafka): nothing is lost. To go on, run c", "a is b", "Set it back (kafka): nothing is lost. To go on, run c")
}
