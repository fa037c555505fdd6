package rollup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"footfall/consumer/store"
	"footfall/models"
)

// decisionVersion is the version of what consumers decide about the log: what is a duplicate, who is a visitor's first, what an event
// adds to which cells, what is refused. Whoever changes what is decided about any event raises it, with a line here. Consumers of two versions do
// not count at the same time. A change that decides as before leaves it as it is, and is upgraded to one consumer after the other.
//
//	0: consumers that do not say their version.
//	1: dead letters do not make the duplicate window forget ids; new topics tell duplicates by visitor and id.
const decisionVersion = 1

// newOwnerName names this process for the table owners, with what it decides by. The version is part of the name, and not a column: a consumer
// that knows nothing of versions takes a partition under its own name, and would leave such a column as it is.
func newOwnerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s/v%d", host, os.Getpid(), uuid.NewString(), decisionVersion)
}

// versionOf is what an owner decides by; 0 if its name does not say.
func versionOf(owner string) int {
	_, version, _ := cutLast(owner, "/v")
	n, err := strconv.Atoi(version)
	if err != nil {
		return 0
	}
	return n
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

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
		case err == nil && (len(others) == 0 || late && !slices.ContainsFunc(others, held)):
			return nil
		case err == nil && late:
			return errors.Join(&refusal{otherwise(others)}, o.giveBack(ctx))
		case err == nil && attempt == 0:
			o.log.Warn("waiting for partitions that were taken last by a consumer that decides otherwise", "partitions", len(others),
				"owner", others[0].Name, "its_version", versionOf(others[0].Name), "our_version", decisionVersion)
		}
		if err := sleep(ctx, agreeInterval); err != nil {
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
	if slices.ContainsFunc(others, held) {
		return errors.New(otherwise(others))
	}
	return nil
}

// others lists who took partitions that are counted and not ours, and decides otherwise.
func (o *ownership) others(ctx context.Context) ([]store.Owner, error) {
	if o.counts == nil {
		return nil, nil
	}
	others, err := decidingOtherwise(ctx, o.store, o.counts)
	return slices.DeleteFunc(others, func(other store.Owner) bool {
		_, ours := o.partitions[other.Partition]
		return ours
	}), err
}

// decidingOtherwise lists those who took partitions that are counted last, and decide by another version. Others are nobody's: those that
// somebody had added, and earlier versions took all the same, would be waited for in vain.
func decidingOtherwise(ctx context.Context, db store.Store, counts func(models.Partition) bool) ([]store.Owner, error) {
	owners, err := db.Owners(ctx)
	return slices.DeleteFunc(owners, func(o store.Owner) bool {
		return !counts(o.Partition) || versionOf(o.Name) == decisionVersion
	}), err
}

func held(o store.Owner) bool { return !o.Clean }

// otherwise says whom we cannot count beside.
func otherwise(others []store.Owner) string {
	other := others[slices.IndexFunc(others, held)]
	return fmt.Sprintf("consumer %s, which has partition %d of topic %s, decides about events by version %d and this one by"+
		" version %d: together they would count wrong. Stop all consumers of one version before the first of the other is started"+
		" (docs/operations.md, Upgrading)", other.Name, other.Partition.Number, other.Partition.Topic, versionOf(other.Name), decisionVersion)
}

// giveBack leaves clean what was clean when we took it: we have written nothing.
func (o *ownership) giveBack(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWordTimeout)
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
