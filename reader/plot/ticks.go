package plot

import (
	"math"
	"strconv"
	"strings"
)

// mostTicks is how many ticks the vertical axis has at the most, besides that of zero.
const mostTicks = 5

// ticks are round numbers from zero to at least highest: 1, 2 or 5 times a power of ten apart. Counts are whole, and so are ticks.
func ticks(highest int64) []float64 {
	top := math.Max(1, float64(highest))
	step := 1.0
	for i := 0; top > step*mostTicks; i++ {
		step *= []float64{2, 2.5, 2}[i%3] // 1, 2, 5, 10
	}
	out := []float64{0}
	for out[len(out)-1] < top {
		out = append(out, step*float64(len(out)))
	}
	return out
}

// suffixes shorten large numbers.
var suffixes = []struct {
	from float64
	text string
}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, "k"}}

// axisNumber writes a tick in six characters at the most. All ticks of an axis have the same suffix, but zero.
func axisNumber(value, highest float64) string {
	for _, s := range suffixes {
		if highest < s.from || value == 0 {
			continue
		}
		unit := s.from
		if s.text == "k" {
			unit = 1e3
		}
		return strconv.FormatFloat(value/unit, 'g', 4, 64) + s.text
	}
	return Number(int64(value))
}

// Number writes a whole number in groups of three digits: 1,234,567.
func Number(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "−", digits[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}
