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
	// agreePatience is how long a consumer waits for others to take the partitions that the group gave them. It takes each of them a
	// few transactions.
	agreePatience = 30 * time.Second
	agreeInterval = time.Second
)

// agree waits until every other partition of the topics was taken last by somebody who decides as this process does. It must be called
// after our own are taken: of two that do so one at least finds the other. The group gave each partition to one of its members, who
// takes it. So one that somebody else holds after all of patience belongs to a consumer that runs and decides otherwise: agree
// returns a *refusal. One that was left clean and that nobody takes is not waited for any longer. After an error our partitions are as they were.
func (o *ownership) agree(ctx context.Context, patience time.Duration) error {
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		others, err := o.others(ctx)
		switch late := time.Since(begun) > patience; {
		case err != nil && ctx.Err() == nil:
			o.log.Warn("reading who owns the partitions failed; trying again", "attempt", attempt+1, "error", err)
		case err == nil && (len(others) == 0 || late && !slices.ContainsFunc(others, eventlog.Held)):
			return nil
		case err == nil && late:
			return errors.Join(eventlog.Refuse("%s", eventlog.DescribeOtherVersion(others)), o.giveBack(ctx))
		case err == nil && attempt == 0:
			o.log.Warn("waiting for partitions that were taken last by a consumer that decides otherwise", "partitions", len(others),
				"owner", others[0].Name, "its_version", eventlog.VersionOf(others[0].Name), "our_version", eventlog.DecisionVersion)
		}
		if err := retry.Sleep(ctx, agreeInterval); err != nil {
			return errors.Join(err, o.giveBack(ctx))
		}
	}
}

// stillAgree tells of somebody who took a partition late, and decides otherwise. That ends the generation; the next one begins with agree.
func (o *ownership) stillAgree(ctx context.Context) error {
	others, err := o.others(ctx)
	if err != nil {
		o.log.Warn("reading who owns the partitions failed", "error", err)
		return nil
	}
	if slices.ContainsFunc(others, eventlog.Held) {
		return errors.New(eventlog.DescribeOtherVersion(others))
	}
	return nil
}

// others lists who took partitions that are counted and not ours, and decides otherwise.
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

// giveBack leaves clean what was clean when we took it: we have written nothing.
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
