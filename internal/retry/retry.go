package retry

import (
	"context"
	"time"
)

// Backoff is the pause after a failed attempt, counted from 0: 100 ms, doubled each time up to 5 s.
func Backoff(attempt int) time.Duration {
	return min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)
}

// Sleep waits for d and returns nil, or returns ctx's error as soon as ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Over tells whether ctx has ended. A connection that has the context's deadline may fail a moment before the context ends. Over waits for
// that moment, so that context.Cause has the reason.
func Over(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}
