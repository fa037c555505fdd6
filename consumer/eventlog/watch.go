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

// lookInterval is how often a consumer checks whether its topics have changed.
const lookInterval = 3 * time.Second

// errChanged says that a generation was added, sealed or deleted.
var errChanged = errors.New("the topics have changed")

// Watch returns when the generations are no longer those of src, with an error that says so or a *Refusal, or when ctx ends. It retries
// while Kafka or the store cannot be read.
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

// growPatience is how long a topic may be half grown before consumers warn of it, and how often they then do.
const growPatience = 30 * time.Second

// Look compares the topics once with those that are read, at less cost than Sources. It returns an error if they have changed. halfGrown
// is the caller's memory between calls: since when each topic is half grown, that is, consumer grow was begun and not finished.
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

// noteHalfGrown warns of a topic that stays half grown: consumer grow was stopped between two steps.
func (l *Log) noteHalfGrown(topic string, next topics.Generation, since map[string]time.Time) {
	switch began, known := since[topic]; {
	case !known:
		since[topic] = time.Now()
	case time.Since(began) >= growPatience:
		since[topic] = time.Now()
		l.warnOfHalfGrown(topic, next)
	}
}

func (l *Log) warnOfHalfGrown(topic string, next topics.Generation) {
	base, _ := models.SplitGeneration(topic)
	l.Logger.Warn("the topic has a next generation, but is not recorded as sealed: producers may write to the next one already, but nothing"+
		" of it is counted; was consumer grow stopped? Run it again", "topic", topic, "next", next.Topic,
		"run", fmt.Sprintf("consumer grow --topic %s --partitions %d", base, next.Partitions))
}
