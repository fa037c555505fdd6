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
	for sleep(ctx, lookInterval) == nil {
		err := c.look(ctx, src)
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

// look compares the generations with those that are read. It costs less than finding them.
func (c *Consumer) look(ctx context.Context, src sources) error {
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
		}
	}
	return nil
}
