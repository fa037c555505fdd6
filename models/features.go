package models

import "strings"

// featureSeparator cannot occur in a feature: Validate refuses NUL.
const featureSeparator = "\x00"

// Features is one combination: a value for each feature of the plan, or empty for "any". It is a string, so that keys and sightings are
// comparable.
type Features string

// NewFeatures joins values, which must not contain NUL.
func NewFeatures(values ...string) Features {
	return Features(strings.Join(values, featureSeparator))
}

// Values splits f into its feature values again.
func (f Features) Values() []string { return strings.Split(string(f), featureSeparator) }

// fixed counts the features that are not "any".
func (f Features) fixed() int {
	n := 0
	for i := range len(f) {
		if f[i] != featureSeparator[0] && (i == 0 || f[i-1] == featureSeparator[0]) {
			n++ // a value begins here
		}
	}
	return n
}

// Combinations lists all ways to keep or drop each feature: 2^n for n values that are not empty. Keeping an empty value would be the same as
// dropping it. The order is fixed: no feature first, all features last.
func Combinations(values []string) []Features {
	out := make([]Features, 0, 1<<len(values))
	kept := make([]string, len(values))
next:
	for mask := range 1 << len(values) {
		for i, v := range values {
			kept[i] = ""
			if mask&(1<<i) == 0 {
				continue
			}
			if v == "" {
				continue next
			}
			kept[i] = v
		}
		out = append(out, NewFeatures(kept...))
	}
	return out
}
