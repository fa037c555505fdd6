package packtest

import (
	"slices"
	"testing"
)

func TestMetrics(t *testing.T) {
	f := func(expr string, want ...string) {
		t.Helper()
		if got := Metrics(expr); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
	f(`sum by (job, le) (rate(a_bucket{le=~"60(\\.0)?", x="b{c}"}[5m])) / on (job) group_left () footfall:x:y > 14.4 * 0.01`, "a_bucket", "footfall:x:y")
	f(`(count(up{a="b"}) or vector(0)) == bool 1e-9 and time() - a < 3`, "a", "up")
	f(`vector(0)`)
}

func TestUnfiltered(t *testing.T) {
	f := func(expr, want string) {
		t.Helper()
		if got := Unfiltered(expr); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	f(`a{x!="1",y=~"<"} > 3 and b == 0`, `a{x!="1",y=~"<"} > bool 3 and b == bool 0`)
	f(`a < bool 3`, `a < bool 3`)
}
