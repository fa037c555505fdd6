package e2e

import (
	"fmt"
	"testing"
	"time"

	"footfall/test/e2e/oracle"
)

// settle waits until the group has committed everything. A consumer commits what it has counted, and nothing else.
func (d *real) settle(t *testing.T, _ *oracle.Oracle) {
	t.Helper()
	within(t, 3*time.Minute, func() error {
		lag, err := d.Lag(t.Context())
		if err == nil && lag != 0 {
			err = fmt.Errorf("%d events are not committed", lag)
		}
		return err
	})
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
func (d *real) stable(t *testing.T, members int) {
	t.Helper()
	within(t, time.Minute, func() error {
		n, err := d.Members(t.Context())
		if err == nil && n != members {
			err = fmt.Errorf("the group has %d members, want %d", n, members)
		}
		return err
	})
}

// progress waits until something was committed in every partition by whoever has it now.
func (d *real) progress(t *testing.T) {
	t.Helper()
	before, err := d.Committed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	within(t, time.Minute, func() error {
		now, err := d.Committed(t.Context())
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
