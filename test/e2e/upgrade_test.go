package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// version is the heading of a release in CHANGELOG.md, such as "## 0.5.0: trust (0d06799)".
var version = regexp.MustCompile(`(?m)^## \d+\.\d+\.\d+: .*\(([0-9a-f]{7,40})\)$`)

// released builds consumer and producer of the last release from the repository's history.
func released(t *testing.T) string {
	t.Helper()
	changes, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	found := version.FindSubmatch(changes)
	if found == nil {
		t.Fatal("CHANGELOG.md names no release")
	}
	lastRelease := string(found[1])
	if err := exec.CommandContext(t.Context(), "git", "cat-file", "-e", lastRelease).Run(); err != nil { //nolint:gosec // from our own file
		if _, err := os.Stat("../../.git"); errors.Is(err, fs.ErrNotExist) && os.Getenv("CI") == "" {
			t.Skip("the last release is in the history, and this is no repository")
		}
		t.Fatalf("the history does not have %s (git fetch --unshallow): %v", lastRelease, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	sources, bin := t.TempDir(), t.TempDir()
	for _, c := range []*exec.Cmd{
		exec.CommandContext(ctx, "sh", "-c", `cd ../.. && git archive "$1" | tar -x -C "$2"`, "sh", lastRelease, sources),        //nolint:gosec // our own names
		exec.CommandContext(ctx, "go", "build", "-C", sources, "-o", bin+string(filepath.Separator), "./consumer", "./producer"), //nolint:gosec // our own names
	} {
		if printed, err := c.CombinedOutput(); err != nil {
			t.Fatalf("building %s: %v\n%s", lastRelease, err, printed)
		}
	}
	return bin
}

// The last release is upgraded as docs/operations.md says, while events keep coming. Consumers of 0.5.0 decide by another version, so all of them
// stop before the new ones start. The producer is replaced at its address. Every cell is right.
func TestUpgradeFromTheLastRelease(t *testing.T) {
	t.Parallel()
	old := released(t)
	t.Run("stopped, then migrated", func(t *testing.T) { upgrade(t, old, false) })
	t.Run("migrated, then stopped, as by the Helm chart", func(t *testing.T) { upgrade(t, old, true) })
}

func upgrade(t *testing.T, old string, migrateFirst bool) {
	kafkaAddress, host, port := stacktest.Require(t)
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	d := describe(t, byDefault, kafkaAddress, cluster)
	d.migrateBy(t, filepath.Join(old, "consumer"))
	address := harness.FreeAddr(t)
	door := start(t, process.Command{Name: "old producer", Path: filepath.Join(old, "producer"), Env: append(d.env, "FOOTFALL_HTTP_ADDR="+address), Dir: d.dir})
	if _, err := door.Expect(patiently(t), regexp.MustCompile(`"the door is open","addr":"([^"]+)"`)); err != nil {
		t.Fatal(err)
	}
	before := []*consumer{d.addConsumerOf(t, filepath.Join(old, "consumer")), d.addConsumerOf(t, filepath.Join(old, "consumer"))}
	d.stable(t, len(before))

	const n = 60_000
	events, order := load.Make(92, n), load.Order(92, n)
	enough := make(chan struct{})
	client := &load.Client{URL: "http://" + address, Connections: 4, Stop: enough, Stubborn: true, Pace: func(int) {
		select {
		case <-enough:
		case <-time.After(10 * time.Millisecond):
		}
	}}
	sent := sendBehind(t, client, events, order)
	d.progress(t)

	if migrateFirst {
		d.migrate(t)
		d.progress(t) // old consumers go on
	}
	for _, c := range before {
		harness.Within(t, time.Minute, "no doubts", func() error {
			metrics, err := process.Metrics(t.Context(), c.url)
			if open := metrics["footfall_doubts_open"]; err == nil && open != 0 {
				err = fmt.Errorf("%v doubts are open", open)
			}
			return err
		})
	}
	for _, c := range before {
		stop(t, c.Process)
	}
	stopped := time.Now()
	if !migrateFirst {
		d.migrate(t)
	}
	d.addConsumer(t)
	d.addConsumer(t)
	d.stable(t, 2)
	d.progress(t)
	t.Logf("%s passed between the last count of old consumers and the first of new ones in each partition", time.Since(stopped).Round(100*time.Millisecond))

	stop(t, door)
	door = start(t, process.Command{Name: "producer", Path: binaries.Path(t, "producer"), Env: append(d.env, "FOOTFALL_HTTP_ADDR="+address), Dir: d.dir})
	if _, err := door.Expect(patiently(t), producerListening); err != nil {
		t.Fatal(err)
	}
	d.progress(t)
	if _, err := process.Run(patiently(t), process.Command{Name: "catalogue", Path: binaries.Path(t, "consumer"), Args: []string{"catalogue"}, Env: d.env, Dir: d.dir}); err != nil {
		t.Fatal(err)
	}
	close(enough)
	result := sent()
	want := result.Oracle(events)
	d.settle(t, want)
	t.Logf("%d requests were answered, %d were sent again, %d of them after a cut", result.Requests, result.Busy, result.Broken)
	equal(t, want.Cells(), d.dump(t))
}
