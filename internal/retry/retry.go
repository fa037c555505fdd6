package retry

import (
	"context"
	"time"
)

// Backoff grows from 100 ms to 5 s.
func Backoff(attempt int) time.Duration {
	return min(100*time.Millisecond<<min(attempt, 10), 5*time.Second)
}

// Sleep waits for d, or until ctx ends: then it returns its error.
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

// Over tells whether ctx has ended. A request whose connection has the context's deadline may fail a moment before the context
// does; Over waits for that moment, so that context.Cause says why.
func Over(ctx context.Context) bool {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	return ctx.Err() != nil
}
