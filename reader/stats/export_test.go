package stats

import "time"

// SetClock gives a reader another clock.
func SetClock(r *Reader, now func() time.Time) { r.now = now }
