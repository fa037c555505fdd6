package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/process"
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

// This version finds neither visitors nor doubts where the last release has them. It refuses those tables and says the way on, before it has changed
// anything, so that the last release goes on with them.
func TestTablesOfTheLastReleaseAreRefused(t *testing.T) {
	t.Parallel()
	old := released(t)
	kafkaAddress, host, port := stacktest.Require(t)
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	d := describe(t, kept{byDefault.features, []string{"month_unique", "day_views"}}, kafkaAddress, cluster) // which the last release knows, too
	d.migrateBy(t, filepath.Join(old, "consumer"))
	said, err := process.Run(patiently(t), process.Command{Name: "refused", Path: binaries.Path(t, "consumer"), Args: []string{"migrate"}, Env: d.env, Dir: d.dir})
	if err == nil || !strings.Contains(said, "footfall 0.x") || !strings.Contains(said, "cassandra.keyspace_suffix") {
		t.Errorf("migrating tables of the last release: %v\n%s", err, said)
	}
	d.migrateBy(t, filepath.Join(old, "consumer"))
}
