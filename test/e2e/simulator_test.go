package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/process"
)

// simulated are options of the simulator and the features that the tables keep.
var simulated = []struct {
	name    string
	keeps   kept
	options string
}{
	{"2 features", byDefault, "--zipf 1.2"},
	{"4 features", fourFeatures, "--features " + strings.Join(fourFeatures.features, " ")},
}

// shownRows is how many rows that differ the simulator lists.
const shownRows = 20

// simulate runs the simulator, which sends made-up events with --send and compares, row by row, what was counted.
func simulate(t *testing.T, env []string, options ...string) (string, error) {
	t.Helper()
	return process.Run(patiently(t), process.Command{
		Name: "simulator", Path: binaries.Path(t, "simulator"), Env: env, Dir: t.TempDir(),
		Args: append(strings.Fields("-s site1 -g 100 -r facebook.com google.com -p /index.html /index2.html /index3.html "+
			"-f 2018-10-20 -t 2018-11-10 -n 800 --clicks 800 --verify"), options...),
	})
}

// judgeSimulated checks that the store holds what the simulator counted, and that the simulator notices a difference.
func judgeSimulated(t *testing.T, producer string, env []string, options string) {
	t.Helper()
	more := strings.Fields(options)
	printed, err := simulate(t, env, append(more, "--seed=1", "--send="+producer)...)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(printed, "Simulation complete. Check ") {
		t.Errorf("the simulator printed\n%s", printed)
	}
	// Sent again, the same events change nothing.
	if _, err := simulate(t, env, append(more, "--seed=1", "--send="+producer)...); err != nil {
		t.Error(err)
	}
	if _, err := simulate(t, env, append(more, "--seed=2", "--send="+producer)...); err == nil || !strings.Contains(err.Error(), "choose another site") {
		t.Errorf("with other events of the site: %v", err)
	}
	began := time.Now()
	_, err = simulate(t, env, append(more, "--seed=2", "--wait=100ms")...)
	var code *exec.ExitError
	if err == nil || !errors.As(err, &code) || code.ExitCode() != 1 || !strings.Contains(err.Error(), "rows differ after 100ms") ||
		!strings.Contains(err.Error(), "Counts('site1', '2018-1") || strings.Count(err.Error(), ", want ") > shownRows {
		t.Errorf("with visits that were not sent, after %s: %v", time.Since(began), err)
	}
}

func TestTheSimulatorAgreesWithTheOneProcessDefault(t *testing.T) {
	for _, s := range simulated {
		t.Run(s.name, func(t *testing.T) {
			d := newEmbeddedKeeping(t, s.keeps)
			judgeSimulated(t, d.url, d.env, s.options)
		})
	}
}

func TestTheSimulatorAgreesWithCassandra(t *testing.T) {
	for _, s := range simulated {
		t.Run(s.name, func(t *testing.T) {
			d := newRealKeeping(t, 2, s.keeps)
			judgeSimulated(t, d.url, append(d.env, "FOOTFALL_DATA_DIR="+t.TempDir()), s.options)
		})
	}
}

// A mistake in the options is reported in one line with exit code 2, never with a stack trace, and no file is written.
func TestTheSimulatorTellsMistakes(t *testing.T) {
	const good = "-s site1 -g 10 -r facebook.com -p /index.html -f 2018-10-01 -t 2018-11-01 -n 5 "
	for line, want := range map[string]string{
		"-s site1 --nonsense":           "--nonsense",
		"":                              "missing required options",
		good + "--features select page": "select is a reserved word",
		good + "--features siteid page": "siteid is another field",
		good + "--seed=-1":              "--seed",
		good + "--send=localhost:8080":  "--send wants the address",
		good + "--verify":               "give the --seed",
		strings.Replace(good, "site1", strings.Repeat("s", 129), 1):                        "--site_id has 129 bytes",
		strings.Replace(good, "-f 2018-10-01", "-f 1970-01-01", 1):                         "--from 1970-01-01",
		strings.Replace(good, "-f 2018-10-01", "-f 2018-02-30", 1):                         "yyyy-MM-dd",
		strings.Replace(good, "2018-11-01", "2018-10-01", 1):                               "--to must be after --from",
		strings.Replace(good, "2018-11-01", "9999-12-31", 1) + "--send=http://127.0.0.1:1": "in the future",
		strings.Replace(good, "-n 5", "-n 99999999999999999999", 1):                        "--num_samples",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, binaries.Path(t, "simulator"), strings.Fields(line)...)
		cmd.Dir = t.TempDir()
		printed, err := cmd.CombinedOutput()
		cancel()
		var code *exec.ExitError
		if !errors.As(err, &code) || code.ExitCode() != 2 || strings.Count(string(printed), "\n") != 1 || !strings.Contains(string(printed), want) {
			t.Errorf("%s: %v: %q, want %q", line, err, printed, want)
		}
		if files, err := os.ReadDir(cmd.Dir); err != nil || len(files) > 0 {
			t.Errorf("%s: it wrote %v, %v", line, files, err)
		}
	}
}
