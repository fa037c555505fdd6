package maintenance

import (
	"context"
	"fmt"

	"footfall/consumer/eventlog"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// Counting is how far the group has counted one generation of visits.
type Counting struct {
	Members int           // of the group
	To      map[int]int64 // by partition: all below this offset is counted
}

// countingOf asks how far the group is, and how many members it has.
func countingOf(ctx context.Context, l *eventlog.Log, visits *eventlog.Source) (Counting, error) {
	at, err := l.Committed(ctx, l.Store, l.Config.Kafka.Group, visits.All())
	if err != nil {
		return Counting{}, err
	}
	out := Counting{To: map[int]int64{}}
	for p, to := range at {
		out.To[p.Number] = to
	}
	out.Members, err = l.Members(ctx)
	return out, err
}

// NotGrowing returns an error while consumer grow is under way for a topic: visits is not its newest generation, or the generation before
// is not counted.
func NotGrowing(ctx context.Context, l *eventlog.Log, visits *eventlog.Source) error {
	base, _ := models.SplitGeneration(visits.Topic)
	found, err := topics.Generations(ctx, l.Kafka, base)
	if err != nil {
		return err
	}
	growing := found[len(found)-1].Topic != visits.Topic
	if !growing && visits.Before != nil {
		counted, err := eventlog.CountedToSeal(ctx, l.Store, visits.Before)
		if err != nil {
			return err
		}
		growing = !counted
	}
	if growing {
		return fmt.Errorf("topic %s is being grown: wait until consumer grow is done, then run this again", base)
	}
	return nil
}
