package rollup

import (
	"context"
	"errors"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/internal/retry"
)

const (
	// agreePatience is how long a consumer waits for the other members to take their partitions, which costs each a few transactions.
	agreePatience = 30 * time.Second
	agreeInterval = time.Second
)

// agree waits until the last owner of every other partition of the topics has our decision version. Call it after taking our own
// partitions: if two consumers both take first and look afterwards, at least one sees the other. Every member takes the partitions that
// the group gave it. So a partition that another version still holds after patience belongs to a running consumer, and agree returns
// a *eventlog.Refusal. A partition that was released and not taken again is no obstacle then. After an error our partitions are as before.
func (o *ownership) agree(ctx context.Context, patience time.Duration) error {
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		others, err := o.others(ctx)
		switch late := time.Since(begun) > patience; {
		case err != nil && ctx.Err() == nil:
			o.log.Warn("reading the partitions' owners failed; trying again", "attempt", attempt+1, "error", err)
		case err == nil && (len(others) == 0 || late && !slices.ContainsFunc(others, eventlog.Held)):
			return nil
		case err == nil && late:
			return errors.Join(eventlog.Refuse("%s", eventlog.DescribeOtherVersion(others)), o.giveBack(ctx))
		case err == nil && attempt == 0:
			o.log.Warn("waiting for partitions whose last owner has another version", "partitions", len(others),
				"owner", others[0].Name, "its_version", eventlog.VersionOf(others[0].Name), "our_version", eventlog.DecisionVersion)
		}
		if err := retry.Sleep(ctx, agreeInterval); err != nil {
			return errors.Join(err, o.giveBack(ctx))
		}
	}
}

// stillAgree fails if a consumer of another version has taken a partition since agree. That ends the generation; the next one begins
// with agree.
func (o *ownership) stillAgree(ctx context.Context) error {
	others, err := o.others(ctx)
	if err != nil {
		o.log.Warn("reading the partitions' owners failed", "error", err)
		return nil
	}
	if slices.ContainsFunc(others, eventlog.Held) {
		return errors.New(eventlog.DescribeOtherVersion(others))
	}
	return nil
}

// others lists the owners of another version, of counted partitions that are not ours.
func (o *ownership) others(ctx context.Context) ([]store.Owner, error) {
	if o.counts == nil {
		return nil, nil
	}
	others, err := eventlog.OwnersOfOtherVersions(ctx, o.store, o.counts)
	return slices.DeleteFunc(others, func(other store.Owner) bool {
		_, ours := o.partitions[other.Partition]
		return ours
	}), err
}

// giveBack releases the partitions that were clean when we took them: we have written nothing.
func (o *ownership) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), repair.ExitTimeout)
	defer cancel()
	for _, p := range o.partitions {
		if !p.tenure.Fresh {
			continue
		}
		if _, err := o.store.Release(ctx, p.tenure, p.tenure.Committed); err != nil {
			return err
		}
	}
	return nil
}
