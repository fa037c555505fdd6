package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// Generation is one generation of a topic: a Kafka topic of its own.
type Generation struct {
	Topic      string
	Number     int // from 1
	Partitions int
}

// Generations finds the existing generations of a base, the oldest first. Earlier ones may be deleted. Like Ensure it waits for a broker that
// is just starting. If no generation exists, the error wraps ErrMissing.
func Generations(ctx context.Context, via dial.Kafka, base string) ([]Generation, error) {
	var found []Generation
	what := fmt.Sprintf("looking for topic %s on %s", base, strings.Join(via.Brokers, ", "))
	err := retry(ctx, what, func(ctx context.Context) (err error) {
		found, err = generations(ctx, via, base)
		return err
	})
	return found, err
}

// EnsureNewest is Ensure for the newest generation of each base, or its first if none exists. It does not create deleted ones again.
func EnsureNewest(ctx context.Context, via dial.Kafka, bases []string, partitions, replication int, create bool) error {
	names := slices.Clone(bases)
	for i, base := range bases {
		found, err := Generations(ctx, via, base)
		if errors.Is(err, ErrMissing) {
			continue
		}
		if err != nil {
			return err
		}
		names[i] = found[len(found)-1].Topic
	}
	return Ensure(ctx, via, names, partitions, replication, create)
}

func generations(ctx context.Context, via dial.Kafka, base string) ([]Generation, error) {
	all, err := look(ctx, via, nil) // by name would be to guess how many there are
	if err != nil {
		return nil, err
	}
	var found []Generation
	for _, t := range all {
		name, n := models.SplitGeneration(t.Name)
		if name != base {
			continue
		}
		if t.Error != nil { // the state of a moment: without it the others would look like all
			return nil, fmt.Errorf("topic %s: %w", t.Name, t.Error)
		}
		found = append(found, Generation{t.Name, n, len(t.Partitions)})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: %w", base, ErrMissing)
	}
	slices.SortFunc(found, func(a, b Generation) int { return a.Number - b.Number })
	return found, nil
}
