package oracle

import (
	"slices"
	"testing"
	"time"
)

func TestDiffSeesAllThreeKinds(t *testing.T) {
	got := Diff(Cells{"same": 1, "wrong": 2, "lost": 3}, Cells{"same": 1, "wrong": 5, "extra": 4})
	want := []string{"extra: 4, want no such cell", "lost: missing, want 3", "wrong: 5, want 2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNamesCannotBeForged(t *testing.T) {
	forged := Name("t", "a", `x"|b="y`)
	if honest := Name("t", "a", "x", "b", "y"); forged == honest {
		t.Errorf("a value passes for a column: %s", forged)
	}
	east := time.FixedZone("east", 3600)
	if got, want := Name("t", "at", time.Date(2018, 10, 1, 1, 0, 0, 0, east)), "t|at=2018-10-01T00:00:00Z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
