package eventlog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// lookInterval is how often a consumer looks whether its topics have changed.
const lookInterval = 3 * time.Second

// errChanged: there are other generations, or one was sealed.
var errChanged = errors.New("the topics have changed")

// Watch returns when the generations are no longer as they were, with errChanged or a *refusal, or when ctx ends.
func (l *Log) Watch(ctx context.Context, src Sources) error {
	halfGrown := map[string]time.Time{}
	for retry.Sleep(ctx, lookInterval) == nil {
		err := l.Look(ctx, src, halfGrown)
		if errors.Is(err, errChanged) || IsRefusal(err) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			l.Logger.Warn("looking at the topics failed; trying again", "error", err)
		}
	}
	return ctx.Err()
}

// GrowPatience is how long a topic may be half grown before consumers warn of it, and then how often they do.
const GrowPatience = 30 * time.Second

// Look compares the generations with those that are read. It costs less than finding them. halfGrown is since when the topics are,
// for which growing was begun and is not done.
func (l *Log) Look(ctx context.Context, src Sources, halfGrown map[string]time.Time) error {
	for base := range l.Bases() {
		found, err := topics.Generations(ctx, l.Kafka, base)
		if err != nil {
			return err
		}
		for _, s := range slices.Collect(maps.Values(src)) {
			if b, _ := models.SplitGeneration(s.Topic); b != base || s.Gone {
				continue
			}
			i := slices.IndexFunc(found, func(g topics.Generation) bool { return g.Topic == s.Topic })
			switch {
			case i < 0 && s.Seal == nil:
				return fmt.Errorf("topic %s: %w", s.Topic, topics.ErrMissing)
			case i < 0:
				counted, err := l.Store.Setting(ctx, Fact(s.Topic, FactCounted), "")
				if err != nil || counted == "" {
					return errors.Join(err, fmt.Errorf("topic %s, which is not counted yet: %w", s.Topic, topics.ErrMissing))
				}
				return errChanged
			case s.Seal != nil:
				continue
			}
			sealed, err := ReadSeal(ctx, l.Store, s.Topic)
			if err != nil {
				return err
			}
			if sealed != nil {
				return errChanged
			}
			if found[i].Partitions != s.Partitions() {
				return OtherPartitions(s.Topic, s.Partitions(), found[i].Partitions)
			}
			if newest := found[len(found)-1]; newest.Topic != s.Topic {
				l.noteHalfGrown(s.Topic, newest, halfGrown)
			}
		}
	}
	return nil
}

// noteHalfGrown warns of a topic that stays half grown: whoever grew it was stopped between two steps.
func (l *Log) noteHalfGrown(topic string, next topics.Generation, since map[string]time.Time) {
	switch began, known := since[topic]; {
	case !known:
		since[topic] = time.Now()
	case time.Since(began) >= GrowPatience:
		since[topic] = time.Now()
		l.warnOfHalfGrown(topic, next)
	}
}

func (l *Log) warnOfHalfGrown(topic string, next topics.Generation) {
	base, _ := models.SplitGeneration(topic)
	l.Logger.Warn("the topic has a next generation, but where it ends itself is not recorded: nothing of the next one is counted, though doors may"+
		" write to it already; was consumer grow stopped? Run it again", "topic", topic, "next", next.Topic,
		"run", fmt.Sprintf("consumer grow --topic %s --partitions %d", base, next.Partitions))
}
