package retry

import "time"

// Since is how long ago t was, by the monotonic or the wall clock, whichever says more: the first stands still while a machine is suspended, and the
// second may be set back.
func Since(t time.Time) time.Duration {
	now := time.Now()
	return max(now.Sub(t), now.Round(0).Sub(t.Round(0)))
}
