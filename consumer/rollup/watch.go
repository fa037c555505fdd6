package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"footfall/internal/kafka/topics"
	"footfall/models"
)

// lookInterval is how often a consumer looks whether its topics have changed.
const lookInterval = 3 * time.Second

// errChanged: there are other generations, or one was sealed.
var errChanged = errors.New("the topics have changed")

// watch returns when the generations are no longer as they were, with errChanged or a *refusal, or when ctx ends.
func (c *Consumer) watch(ctx context.Context, src sources) error {
	halfGrown := map[string]time.Time{}
	for sleep(ctx, lookInterval) == nil {
		err := c.look(ctx, src, halfGrown)
		var refused *refusal
		if errors.Is(err, errChanged) || errors.As(err, &refused) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("looking at the topics failed; trying again", "error", err)
		}
	}
	return ctx.Err()
}

// growPatience is how long a topic may be half grown before consumers warn of it, and then how often they do.
const growPatience = 30 * time.Second

// look compares the generations with those that are read. It costs less than finding them. halfGrown is since when the topics are,
// for which growing was begun and is not done.
func (c *Consumer) look(ctx context.Context, src sources, halfGrown map[string]time.Time) error {
	for base := range c.bases() {
		found, err := topics.Generations(ctx, c.kafka, base)
		if err != nil {
			return err
		}
		for _, s := range slices.Collect(maps.Values(src)) {
			if b, _ := models.SplitGeneration(s.topic); b != base || s.gone {
				continue
			}
			i := slices.IndexFunc(found, func(g topics.Generation) bool { return g.Topic == s.topic })
			switch {
			case i < 0 && s.seal == nil:
				return fmt.Errorf("topic %s: %w", s.topic, topics.ErrMissing)
			case i < 0:
				counted, err := c.store.Setting(ctx, fact(s.topic, factCounted), "")
				if err != nil || counted == "" {
					return errors.Join(err, fmt.Errorf("topic %s, which is not counted yet: %w", s.topic, topics.ErrMissing))
				}
				return errChanged
			case s.seal != nil:
				continue
			}
			sealed, err := readSeal(ctx, c.store, s.topic)
			if err != nil {
				return err
			}
			if sealed != nil {
				return errChanged
			}
			if found[i].Partitions != s.partitions() {
				return otherPartitions(s.topic, s.partitions(), found[i].Partitions)
			}
			if newest := found[len(found)-1]; newest.Topic != s.topic {
				c.noteHalfGrown(s.topic, newest, halfGrown)
			}
		}
	}
	return nil
}

// noteHalfGrown warns of a topic that stays half grown: whoever grew it was stopped between two steps.
func (c *Consumer) noteHalfGrown(topic string, next topics.Generation, since map[string]time.Time) {
	switch began, known := since[topic]; {
	case !known:
		since[topic] = time.Now()
	case time.Since(began) >= growPatience:
		since[topic] = time.Now()
		c.warnOfHalfGrown(topic, next)
	}
}

func (c *Consumer) warnOfHalfGrown(topic string, next topics.Generation) {
	base, _ := models.SplitGeneration(topic)
	c.log.Warn("the topic has a next generation, but where it ends itself is not recorded: nothing of the next one is counted, though doors may"+
		" write to it already; was consumer grow stopped? Run it again", "topic", topic, "next", next.Topic,
		"run", fmt.Sprintf("consumer grow --topic %s --partitions %d", base, next.Partitions))
}
