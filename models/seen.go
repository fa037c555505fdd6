package models

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Seen is how tables write an entry: its day, its ways and its features, such as 2018-10-05, month:c week:c day:f, facebook.com, /news.
func (f First) Seen() []string {
	seen := append(make([]string, 0, 2+len(f.Features)), f.Day.Time().Format(time.DateOnly), f.Of.text())
	return append(seen, f.Features...)
}

// ReadFirst reads the entry of an event at a position. It is false for one that somebody wrote by hand and that remembers nothing that can be
// read.
func ReadFirst(at Position, seen []string, features int) (First, bool) {
	if len(seen) != 2+features {
		return First{}, false
	}
	day, err := time.Parse(time.DateOnly, seen[0])
	of, ok := readWays(seen[1])
	if !ok || err != nil {
		return First{}, false
	}
	if at.Topic == "" {
		at = Position{Partition: -1, Offset: -1} // by hand as well: the visitor was seen, but by no event of the log
	}
	return First{At: at, Day: Millis(day.UnixMilli()), Features: seen[2:], Of: of}, true
}

// text writes ways, such as month:f week:f day:f. Intervals without a combination are left out.
func (of Ways) text() string {
	text := make([]byte, 0, len("month:f week:f day:f"))
	for i, set := range of {
		if set == 0 {
			continue
		}
		if len(text) > 0 {
			text = append(text, ' ')
		}
		text = strconv.AppendUint(append(append(text, uniques[i].name...), ':'), set, 16)
	}
	return string(text)
}

func readWays(text string) (of Ways, ok bool) {
	for part := range strings.SplitSeq(text, " ") {
		name, digits, _ := strings.Cut(part, ":")
		place := slices.IndexFunc(uniques, func(u interval) bool { return u.name == name })
		set, err := strconv.ParseUint(digits, 16, 64)
		if place < 0 || err != nil {
			return Ways{}, false
		}
		of[place] |= set
	}
	return of, true
}
