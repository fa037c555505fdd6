package broker

import (
	"maps"
	"testing"
	"time"

	"footfall/models"
)

// TestCuts: a segment goes if it is counted, outside the duplicate window, and too old or too much; the oldest first, never the last.
func TestCuts(t *testing.T) {
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	a, b := models.Partition{Topic: "clicks"}, models.Partition{Topic: "clicks", Number: 1}
	// Segments of 100 offsets and 100 bytes, so many hours old.
	log := func(p models.Partition, hours ...int) partition {
		list := make([]segment, len(hours))
		for i, h := range hours {
			base := int64(i) * 100
			list[i] = segment{base: base, end: base + 100, size: 100, last: now.Add(-time.Duration(h) * time.Hour)}
		}
		list[len(list)-1].end = 0
		return partition{Partition: p, segments: list}
	}
	type offsets = map[models.Partition]int64
	for name, c := range map[string]struct {
		bytes, window int64
		age           time.Duration
		log           []partition
		counted, want offsets
	}{
		"no bounds":                        {log: []partition{log(a, 900, 800, 700)}, counted: offsets{a: 300}, want: offsets{}},
		"too old":                          {age: 168 * time.Hour, log: []partition{log(a, 200, 180, 100, 1)}, counted: offsets{a: 400}, want: offsets{a: 200}},
		"too old, not counted":             {age: 168 * time.Hour, log: []partition{log(a, 200, 180, 100, 1)}, want: offsets{}},
		"too old, counted in part":         {age: 168 * time.Hour, log: []partition{log(a, 200, 180, 100, 1)}, counted: offsets{a: 199}, want: offsets{a: 100}},
		"the last counted event stays":     {age: 168 * time.Hour, log: []partition{log(a, 200, 180, 100, 1)}, counted: offsets{a: 200}, want: offsets{a: 100}},
		"the last segment stays":           {age: 168 * time.Hour, log: []partition{log(a, 900, 800)}, counted: offsets{a: 200}, want: offsets{a: 100}},
		"too large":                        {bytes: 250, log: []partition{log(a, 4, 3, 2, 1)}, counted: offsets{a: 400}, want: offsets{a: 200}},
		"too large, but in the window":     {bytes: 250, window: 200, log: []partition{log(a, 4, 3, 2, 1)}, counted: offsets{a: 399}, want: offsets{a: 100}},
		"the window's ids are too old":     {bytes: 250, window: 400, log: []partition{log(a, 28, 27, 26, 26, 1)}, counted: offsets{a: 450}, want: offsets{a: 300}},
		"an hour more for clocks set back": {bytes: 100, window: 400, log: []partition{log(a, 26, 25, 24)}, counted: offsets{a: 300}, want: offsets{a: 100}},
		"the oldest of all partitions":     {bytes: 350, log: []partition{log(a, 9, 8, 7), log(b, 20, 3, 2)}, counted: offsets{a: 300, b: 300}, want: offsets{a: 200, b: 100}},
		"the other one is not counted":     {bytes: 350, log: []partition{log(a, 9, 8, 7), log(b, 20, 3, 2)}, counted: offsets{a: 300}, want: offsets{a: 200}},
		"both bounds":                      {bytes: 300, age: 10 * time.Hour, log: []partition{log(a, 9, 8), log(b, 20, 3, 2)}, counted: offsets{a: 200, b: 300}, want: offsets{a: 100, b: 100}},
	} {
		r := Retention{Bytes: c.bytes, Age: c.age, Window: c.window, IDAge: 24 * time.Hour}
		if got := r.cuts(c.log, c.counted, now); !maps.Equal(got, c.want) {
			t.Errorf("%s: cut at %v, want %v", name, got, c.want)
		}
	}
}
