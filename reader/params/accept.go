package params

import (
	"strconv"
	"strings"
)

// Weight reads a q of a header such as Accept; absent: 1. One that is no number is 0.
func Weight(text string) float64 {
	if text == "" {
		return 1
	}
	q, err := strconv.ParseFloat(text, 64)
	if err != nil || !(q >= 0 && q <= 1) {
		return 0
	}
	return q
}

// AcceptsGzip reads Accept-Encoding.
func AcceptsGzip(header string) bool {
	any := false
	for part := range strings.SplitSeq(header, ",") {
		name, args, _ := strings.Cut(part, ";")
		q := Weight(strings.TrimPrefix(strings.ReplaceAll(args, " ", ""), "q="))
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "gzip", "x-gzip":
			return q > 0
		case "*":
			any = q > 0
		}
	}
	return any
}
