package models

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// There are n!/(k!(n-k)!) combinations of k features, and every single one is right.
func TestCombinations(t *testing.T) {
	for n := 1; n <= 6; n++ {
		values := make([]string, n)
		for i := range values {
			values[i] = fmt.Sprint("value", i)
		}
		got := Combinations(values)
		size := map[int]int{} // how many combinations keep k features
		seen := map[Features]bool{}
		for _, c := range got {
			kept := c.Values()
			if len(kept) != n {
				t.Fatalf("n = %d: %q has %d values", n, c, len(kept))
			}
			for i, v := range kept {
				if v != "" && v != values[i] {
					t.Errorf("n = %d: value %q at place %d of %q", n, v, i, c)
				}
			}
			if seen[c] {
				t.Errorf("n = %d: %q twice", n, c)
			}
			seen[c] = true
			size[c.fixed()]++
		}
		for k, choose := 0, 1; k <= n; k, choose = k+1, choose*(n-k)/(k+1) {
			if size[k] != choose {
				t.Errorf("n = %d: %d combinations of %d features, want %d", n, size[k], k, choose)
			}
		}
		if got[0].fixed() != 0 || got[len(got)-1].fixed() != n {
			t.Errorf("n = %d: first is %q, last is %q", n, got[0], got[len(got)-1])
		}
		if !slices.Equal(got, Combinations(values)) {
			t.Errorf("n = %d: the order differs the second time", n)
		}
	}
}

// Keeping an empty feature is the same as dropping it, so it must not be there twice.
func TestCombinationsWithEmptyFeatures(t *testing.T) {
	for n := 1; n <= 6; n++ {
		for present := range 1 << n {
			values, there := make([]string, n), 0
			for i := range values {
				if present&(1<<i) != 0 {
					values[i] = fmt.Sprint("value", i)
					there++
				}
			}
			got := Combinations(values)
			if len(got) != 1<<there {
				t.Errorf("%q: %d combinations, want %d", values, len(got), 1<<there)
			}
			if distinct := slices.Compact(slices.Sorted(slices.Values(got))); len(distinct) != len(got) {
				t.Errorf("%q: a combination twice in %q", values, got)
			}
		}
	}
}

func TestCombinationsOfTwo(t *testing.T) {
	f := func(f1, f2 string, want ...[]string) {
		t.Helper()
		var got [][]string
		for _, c := range Combinations([]string{f1, f2}) {
			got = append(got, c.Values())
		}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("(%q, %q): %q, want %q", f1, f2, got, want)
		}
	}
	f("fb", "/", []string{"", ""}, []string{"fb", ""}, []string{"", "/"}, []string{"fb", "/"})
	f("fb", "", []string{"", ""}, []string{"fb", ""})
	f("", "/", []string{"", ""}, []string{"", "/"})
	f("", "", []string{"", ""})
	f("same", "same", []string{"", ""}, []string{"same", ""}, []string{"", "same"}, []string{"same", "same"})
}

// Values of features keep their positions, whatever they contain.
func TestFeaturesKeepTheirPositions(t *testing.T) {
	for _, values := range [][]string{{"a", ""}, {"", "a"}, {"a|b", "c"}, {"a", "b|c"}, {" ", "\t"}, {strings.Repeat("x", MaxFeature), "é"}} {
		if got := NewFeatures(values...).Values(); !slices.Equal(got, values) {
			t.Errorf("%q became %q", values, got)
		}
	}
	if NewFeatures("a", "") == NewFeatures("", "a") {
		t.Error("feature1 and feature2 are the same")
	}
}
