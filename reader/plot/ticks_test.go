package plot

import (
	"math"
	"slices"
	"testing"
	"unicode/utf8"
)

func TestTicks(t *testing.T) {
	f := func(highest int64, want ...float64) {
		t.Helper()
		if got := ticks(highest); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", highest, got, want)
		}
	}
	f(0, 0, 1)
	f(1, 0, 1)
	f(3, 0, 1, 2, 3)
	f(4, 0, 1, 2, 3, 4)
	f(5, 0, 1, 2, 3, 4, 5)
	f(7, 0, 2, 4, 6, 8)
	f(17, 0, 5, 10, 15, 20)
	f(99, 0, 20, 40, 60, 80, 100)
	f(415, 0, 100, 200, 300, 400, 500)
	f(1234, 0, 500, 1000, 1500)
}

func TestTicksAreFewWholeAndReachTheHighest(t *testing.T) {
	for _, n := range []int64{7, 12, 81, 999, 1001, 123_456, 5e8, 1e12, math.MaxInt64} {
		got := ticks(n)
		if top := got[len(got)-1]; len(got) < 3 || len(got) > mostTicks+1 || top < float64(n) || top > 2.5*float64(n) || got[1] != math.Trunc(got[1]) {
			t.Errorf("%d: %v", n, got)
		}
		said := map[string]bool{}
		for _, v := range got {
			text := axisNumber(v, got[len(got)-1])
			if said[text] || utf8.RuneCountInString(text) > 6 {
				t.Errorf("%d: %v is written %q", n, v, text)
			}
			said[text] = true
		}
	}
}

func TestNumbers(t *testing.T) {
	f := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	f(Number(0), "0")
	f(Number(999), "999")
	f(Number(1000), "1,000")
	f(Number(1234567), "1,234,567")
	f(Number(-1234), "−1,234")
	f(Number(math.MinInt64), "−9,223,372,036,854,775,808")
	f(axisNumber(1500, 2000), "1,500")
	f(axisNumber(15_000, 20_000), "15k")
	f(axisNumber(500_000, 1.5e6), "0.5M")
	f(axisNumber(0, 1.5e6), "0")
}
