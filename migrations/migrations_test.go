package migrations

import (
	"slices"
	"strings"
	"testing"
)

func TestAllAreInOrder(t *testing.T) {
	all, err := All()
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
			if !strings.HasPrefix(statement, "CREATE ") || !strings.Contains(statement, " IF NOT EXISTS ") {
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
