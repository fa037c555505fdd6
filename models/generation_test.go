package models

import "testing"

func TestGenerationsOfTopics(t *testing.T) {
	f := func(topic, base string, n int) {
		t.Helper()
		if b, m := SplitGeneration(topic); b != base || m != n {
			t.Errorf("SplitGeneration(%q) = %q, %d, want %q, %d", topic, b, m, base, n)
		}
		if got := GenerationTopic(base, n); got != topic {
			t.Errorf("GenerationTopic(%q, %d) = %q, want %q", base, n, got, topic)
		}
	}
	f("visits", "visits", 1)
	f("visits-g2", "visits", 2)
	f("visits-g12", "visits", 12)
	f("visits-g2-g3", "visits-g2", 3)
	// Names that GenerationTopic never makes are bases of their own.
	f("visits-g1", "visits-g1", 1)
	f("visits-g02", "visits-g02", 1)
	f("visits-g+2", "visits-g+2", 1)
	f("visits-g", "visits-g", 1)
	f("-g2", "-g2", 1)
	f("big-gap", "big-gap", 1)
}
