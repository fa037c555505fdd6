package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
)

// settle waits until the group has committed everything. A consumer commits what it has counted, and nothing else.
func (b *broker) settle(t *testing.T, patience time.Duration) {
	t.Helper()
	var lag int64
	within(t, patience, func() (err error) {
		if lag, err = b.lag(t.Context()); err == nil && lag != 0 {
			err = fmt.Errorf("%d events are not committed", lag)
		}
		return err
	})
}

// remove deletes the topics and the group.
func (b *broker) remove(ctx context.Context) error {
	_, err := b.client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: append(b.topics, b.dead)})
	if err != nil {
		return fmt.Errorf("deleting topics: %w", err)
	}
	if _, err := b.client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: []string{b.group}}); err != nil {
		return fmt.Errorf("deleting the group: %w", err)
	}
	return nil
}

// within calls try until it succeeds, and gives up with its last error when patience is at an end.
func within(t *testing.T, patience time.Duration, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %s: %v", patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stable waits until the group has so many members and each has its partitions.
func (b *broker) stable(t *testing.T, members int) {
	t.Helper()
	within(t, time.Minute, func() error {
		answer, err := b.client.DescribeGroups(t.Context(), &kafka.DescribeGroupsRequest{GroupIDs: []string{b.group}})
		if err != nil {
			return err
		}
		group := answer.Groups[0]
		if group.Error != nil {
			return group.Error
		}
		if group.GroupState != "Stable" || len(group.Members) != members {
			return fmt.Errorf("the group is %q with %d members, want it stable with %d", group.GroupState, len(group.Members), members)
		}
		for _, m := range group.Members {
			if len(m.MemberAssignments.Topics) == 0 {
				return fmt.Errorf("member %s has no partitions", m.MemberID)
			}
		}
		return nil
	})
}

// progress waits until something was committed in every partition by whoever has it now.
func (b *broker) progress(t *testing.T) {
	t.Helper()
	before, err := b.committed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, func() error {
		now, err := b.committed(t.Context())
		if err != nil {
			return err
		}
		for p, offset := range now {
			if offset <= before[p] {
				return fmt.Errorf("no progress in %v since it was at %d", p, offset)
			}
		}
		return nil
	})
}
