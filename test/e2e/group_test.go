package e2e

import (
	"fmt"
	"testing"
	"time"

	"footfall/test/e2e/oracle"
	"footfall/test/harness"
)

// settle waits until the group has committed all events. A consumer commits only what it has counted.
func (d *real) settle(t *testing.T, _ *oracle.Oracle) {
	t.Helper()
	harness.Within(t, 3*time.Minute, "counting all events", func() error {
		lag, err := d.Lag(t.Context())
		if err == nil && lag != 0 {
			err = fmt.Errorf("%d events are not committed", lag)
		}
		return err
	})
}

// stable waits until the group has so many members and each has partitions.
func (d *real) stable(t *testing.T, members int) {
	t.Helper()
	harness.Within(t, time.Minute, "a stable group", func() error {
		n, err := d.Members(t.Context())
		if err == nil && n != members {
			err = fmt.Errorf("the group has %d members, want %d", n, members)
		}
		return err
	})
}

// progress waits until the committed offset of every partition has moved on.
func (d *real) progress(t *testing.T) {
	t.Helper()
	before, err := d.Committed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	harness.Within(t, time.Minute, "progress", func() error {
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
