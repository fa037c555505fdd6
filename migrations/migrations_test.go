package migrations

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMigrationsAreInOrder(t *testing.T) {
	all, err := All([]string{"feature1", "feature2"})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 3 {
		t.Fatalf("%d migrations", len(all))
	}
	for i, m := range all {
		if m.Version != i+1 || m.Name == "" || len(m.Checksum) != 64 {
			t.Errorf("migration %d: version %d, name %q, checksum %q", i, m.Version, m.Name, m.Checksum)
		}
		for _, statement := range m.Statements {
			creates := strings.HasPrefix(statement, "CREATE ") && strings.Contains(statement, " IF NOT EXISTS ")
			if !creates && !strings.HasPrefix(statement, "DROP TABLE IF EXISTS ") {
				t.Errorf("migration %d is not safe to run again: %s", m.Version, statement)
			}
		}
	}
}

func TestSplit(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		if got := split(text); !slices.Equal(got, want) {
			t.Errorf("split(%q) = %q, want %q", text, got, want)
		}
	}
	f("")
	f("-- nothing\n")
	f("A;\nB\n  C;", "A", "B\n  C")
	f("A (\n  x int, -- what; for\n  y int\n);", "A (\n  x int,\n  y int\n)")
	f("A -- no end", "A")
}

// landed are the checksums that databases have recorded. A new migration adds a line. Lines never change: a database with another checksum is
// refused.
var landed = []string{
	"dfdbb2e2813203af07e91a5b2a03ec6cc1d4fefca0fe2a8b8af49c69185991aa", // 0001_footfall
	"a50aee354b5a27820d5bcac1b3c982b8bf28512342a26fac45a35643eac78574", // 0002_urlshortener
	"3d865d0eb2b77873dbbe637a138d6bbfd07730b67d4f047348877c050349afd6", // 0003_cardinality
}

// Released migrations never change.
func TestReleasedMigrationsNeverChange(t *testing.T) {
	all, err := All([]string{"feature1", "feature2"})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != len(landed) {
		t.Errorf("%d migrations, %d checksums: note down each one that lands", len(all), len(landed))
	}
	for i, m := range all {
		if _, err := files.ReadFile(fmt.Sprintf("%04d_%s.cql", m.Version, m.Name)); err != nil || m.Version != i+1 {
			t.Errorf("migration %d is %d (%s): %v", i+1, m.Version, m.Name, err)
		}
	}
	for i := range min(len(all), len(landed)) {
		if all[i].Checksum != landed[i] {
			t.Errorf("migration %d (%s) has checksum %s, but landed as %s", all[i].Version, all[i].Name, all[i].Checksum, landed[i])
		}
	}
}

func TestFeaturesAreColumns(t *testing.T) {
	all, err := All([]string{"referrer", "page", "device"})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(all[2].Statements, ";\n")
	for _, want := range []string{
		"    month_interval_start timestamp,\n    referrer text,\n    page text,\n    device text,\n    metric_type text,",
		"PRIMARY KEY ((siteId, month_interval_start, referrer, page, device), metric_type, interval_start)",
		"PRIMARY KEY ((siteId, month_interval_start, referrer, page, device), topic, kafka_partition, kind, epoch)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if regexp.MustCompile(`feature\d|\$\{feature`).MatchString(text) {
		t.Errorf("there are features that are not in the plan:\n%s", text)
	}
}
