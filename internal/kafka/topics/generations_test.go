package topics_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
)

func TestGenerationsOldestFirst(t *testing.T) {
	_, brokers := cluster(t, kfake.SeedTopics(13, "visits-g10"), kfake.SeedTopics(2, "visits"), kfake.SeedTopics(4, "visits-g2"),
		kfake.SeedTopics(1, "visits-g02", "visits-of-others", "clicks-g2"))
	got, err := topics.Generations(t.Context(), dial.Plain(brokers...), "visits")
	want := []topics.Generation{{"visits", 1, 2}, {"visits-g2", 2, 4}, {"visits-g10", 10, 13}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Generations = %v, %v; want %v", got, err, want)
	}
}

func TestGenerationsOfAMissingTopic(t *testing.T) {
	_, brokers := cluster(t, kfake.SeedTopics(1, "visits-x"))
	if got, err := topics.Generations(t.Context(), dial.Plain(brokers...), "visits"); !errors.Is(err, topics.ErrMissing) {
		t.Errorf("Generations = %v, %v", got, err)
	}
}
