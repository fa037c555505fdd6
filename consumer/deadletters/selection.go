package deadletters

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"footfall/models"
)

// Selection says which letters are meant. The zero value means all.
type Selection struct {
	Reasons []string
	Topics  []string  // of origin; a base stands for all its generations
	Keys    []string  // a Kafka key, or the link or site that it begins with
	Since   time.Time // when the letter was written, or later
	Until   time.Time // before
}

// Match tells whether a letter is meant.
func (s Selection) Match(l Letter) bool {
	base, _ := models.SplitGeneration(l.Origin.Topic)
	of := func(key string) bool {
		rest, found := bytes.CutPrefix(l.Key, []byte(key))
		return found && (len(rest) == 0 || rest[0] == '|')
	}
	switch {
	case len(s.Reasons) > 0 && !slices.Contains(s.Reasons, l.Reason):
	case len(s.Topics) > 0 && !slices.Contains(s.Topics, l.Origin.Topic) && !slices.Contains(s.Topics, base):
	case len(s.Keys) > 0 && !slices.ContainsFunc(s.Keys, of):
	case !s.Since.IsZero() && l.At.Before(s.Since):
	case !s.Until.IsZero() && !l.At.Before(s.Until):
	default:
		return true
	}
	return false
}

// Moment reads a time of a command line: a date, a time in RFC 3339, or how long ago.
func Moment(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q: want a date (2026-11-30), a time (2026-11-30T15:04:05Z) or how long ago (24h)", text)
}
