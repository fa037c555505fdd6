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
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"

	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/load"
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
// anything, so that the last release goes on with them. The way on: this version counts the same log into tables of its own, and gets the same counts.
func TestTablesOfTheLastReleaseAreRefused(t *testing.T) {
	t.Parallel()
	release := filepath.Join(released(t), "consumer")
	kafkaAddress, host, port := stacktest.Require(t)
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	ofVisits := kept{byDefault.features, []string{"month_unique", "week_unique", "day_unique", "month_views", "day_views", "hour_views"}}
	old := describe(t, ofVisits, kafkaAddress, cluster)
	old.migrateBy(t, release)
	said, err := process.Run(patiently(t), process.Command{Name: "refused", Path: binaries.Path(t, "consumer"), Args: []string{"migrate"}, Env: old.env, Dir: old.dir})
	if err == nil || !strings.Contains(said, "footfall 0.x") || !strings.Contains(said, "cassandra.keyspace_suffix") {
		t.Errorf("migrating tables of the last release: %v\n%s", err, said)
	}
	old.migrateBy(t, release)

	old.open(t, 0)
	consumer := old.addConsumerOf(t, release)
	want, _ := send(t, old, load.Make(17, 5_000), load.Order(17, 5_000), nil)
	old.settle(t, want)
	if err := consumer.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	cluster = gocql.NewCluster(host)
	cluster.Port = port
	now := describe(t, ofVisits, kafkaAddress, cluster, "FOOTFALL_KAFKA_TOPICS_CLICKS="+old.Topics[0], "FOOTFALL_KAFKA_TOPICS_VISITS="+old.Topics[1],
		"FOOTFALL_KAFKA_TOPICS_DEAD="+old.Dead)
	now.Topics = old.Topics
	now.migrate(t)
	now.addConsumer(t)
	now.settle(t, want)
	for _, table := range []string{
		"urlshortener%s.clickcounter", "urlshortener%s.hourcounters", "urlshortener%s.daycounters", "urlshortener%s.countrycounters", "urlshortener%s.referrercounters",
		"urlshortener%s.uniquecounter", "urlshortener%s.botcounter", "urlshortener%s.uniquecounterips", "cardinality%s.Counts",
	} {
		before, after := old.rows(t, table), now.rows(t, table)
		if len(before) == 0 || !slices.Equal(before, after) {
			t.Errorf("%s: %d rows of the last release, %d of this version; the first that differ:\n%v\n%v", table, len(before), len(after), firstOther(before, after), firstOther(after, before))
		}
	}
}

// rows are a table's rows as text, in order.
func (d *real) rows(t *testing.T, table string) (rows []string) {
	t.Helper()
	all, err := d.session.Query("SELECT * FROM " + fmt.Sprintf(table, d.suffix)).WithContext(t.Context()).Iter().SliceMap()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range all {
		rows = append(rows, fmt.Sprint(row))
	}
	slices.Sort(rows)
	return rows
}

// firstOther is the first of some rows that is not among others.
func firstOther(some, others []string) string {
	for _, row := range some {
		if !slices.Contains(others, row) {
			return row
		}
	}
	return ""
}
