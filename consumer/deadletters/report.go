package deadletters

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Fate is what becomes of a selected letter.
type Fate string

// The fates.
const (
	Send     Fate = "send"     // it is sent, or would be
	Before   Fate = "before"   // an earlier replay sent it
	Again    Fate = "again"    // it is an event that a replay sent, and that failed once more
	Invalid  Fate = "invalid"  // consumers could not count it, with these rules
	Carried  Fate = "carried"  // consumer grow copies its event to the next generation
	Counted  Fate = "counted"  // a retirement refused it, but the tables know of none that does: its event is counted
	Doubtful Fate = "doubtful" // it cannot be told whether an interrupted replay sent it
	TooLarge Fate = "large"    // Kafka refused it for its size
	Rest     Fate = "rest"     // it is beyond the limit
)

// Report adds up what was read and done. Make one with NewReport. Not safe for concurrent use.
type Report struct {
	Read     int `json:"read"`     // messages of the topic of dead letters
	NoOrigin int `json:"noOrigin"` // of them, those that no consumer wrote
	Unmeant  int `json:"unmeant"`  // not selected
	Repeats  int `json:"repeats"`  // letters that were selected and had been written before
	Letters  int `json:"letters"`  // selected, each once: the sum of Fates

	Reasons  map[string]int  `json:"reasons"`  // of the selected letters
	Hours    []Hour          `json:"hours"`    // when they were written
	Fates    map[Fate]int    `json:"fates"`    // what became of them
	Sent     int             `json:"sent"`     // of Send, those that Kafka has
	Topics   map[string]int  `json:"topics"`   // of Send, by topic
	Rules    []RuleCount     `json:"rules"`    // of Send, by the rules that changed them
	Invalids map[string]int  `json:"invalids"` // of Invalid, by reason
	Took     float64         `json:"seconds"`
	hours    map[int64]*Hour // by Unix time
}

// Hour has the letters that were written in an hour.
type Hour struct {
	From    time.Time      `json:"from"`
	Letters int            `json:"letters"`
	Reasons map[string]int `json:"reasons"`
}

// RuleCount is how many letters a rule changed.
type RuleCount struct {
	Rule    string `json:"rule"`
	Letters int    `json:"letters"`
}

// NewReport makes an empty report.
func NewReport(rules Rules) *Report {
	r := &Report{
		Reasons: map[string]int{}, Fates: map[Fate]int{}, Topics: map[string]int{}, Invalids: map[string]int{}, Hours: []Hour{},
		Rules: []RuleCount{}, hours: map[int64]*Hour{},
	}
	for _, rule := range rules {
		r.Rules = append(r.Rules, RuleCount{Rule: rule.String()})
	}
	return r
}

// Select adds a selected letter.
func (r *Report) Select(l Letter) {
	r.Letters++
	r.Reasons[l.Reason]++
	from := l.At.UTC().Truncate(time.Hour)
	hour := r.hours[from.Unix()]
	if hour == nil {
		hour = &Hour{From: from, Reasons: map[string]int{}}
		r.hours[from.Unix()] = hour
	}
	hour.Letters++
	hour.Reasons[l.Reason]++
}

// Sends adds a letter that is sent, or would be.
func (r *Report) Sends(m Mended) {
	r.Fates[Send]++
	r.Topics[m.Base]++
	for _, i := range m.Changed {
		r.Rules[i].Letters++
	}
}

// Exceeds corrects Sends: Kafka refused the letter for its size.
func (r *Report) Exceeds(m Mended) {
	r.Fates[Send]--
	r.Fates[TooLarge]++
	if r.Topics[m.Base]--; r.Topics[m.Base] == 0 {
		delete(r.Topics, m.Base)
	}
	for _, i := range m.Changed {
		r.Rules[i].Letters--
	}
}

// Stays adds a letter that stays invalid.
func (r *Report) Stays(reason string) {
	r.Fates[Invalid]++
	r.Invalids[reason]++
}

// Finish completes the report.
func (r *Report) Finish(took time.Duration) {
	r.Took = took.Seconds()
	r.Hours = r.Hours[:0]
	for _, at := range slices.Sorted(maps.Keys(r.hours)) {
		r.Hours = append(r.Hours, *r.hours[at])
	}
}

// byDay is from how many hours on letters are told by day.
const byDay = 48

// Lines are the report for people. sending: letters were sent, not only looked at.
func (r *Report) Lines(sending bool) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	say("%d dead letters of %d messages (%d repeats, %d not selected, %d without an origin)", r.Letters, r.Read, r.Repeats, r.Unmeant, r.NoOrigin)
	if r.Letters == 0 {
		return lines
	}
	say("by reason: %s", counts(r.Reasons))
	say("by time (UTC):")
	for _, h := range grouped(r.Hours) {
		say("  %s", h)
	}
	verb := "would be sent"
	if sending {
		verb = "to send"
	}
	say("%s: %d (%s)", verb, r.Fates[Send], counts(r.Topics))
	for _, rule := range r.Rules {
		say("  %s changes %d of them", rule.Rule, rule.Letters)
	}
	for _, of := range []struct {
		fate Fate
		why  string
	}{
		{Before, "an earlier replay sent them"},
		{Again, "a replay sent them, and they failed once more: --again sends them again"},
		{Invalid, "consumers could not count them: " + counts(r.Invalids)},
		{Carried, "consumer grow carries them over to the next generation of their topic, where they are counted; if it was interrupted, run it again"},
		{Counted, "interval_retired, but no retirement that these tables know of refuses them: since tables were restored, their events are counted where they are"},
		{Doubtful, "an interrupted replay may have sent them, and Kafka has deleted what would tell: --doubtful sends them"},
		{TooLarge, "too large for their topic: raise its max.message.bytes"},
		{Rest, "beyond --limit"},
	} {
		if n := r.Fates[of.fate]; n > 0 {
			say("not sent: %d (%s)", n, of.why)
		}
	}
	if sending {
		say("sent: %d in %.1f s", r.Sent, r.Took)
	} else {
		say("nothing was sent: --send sends")
	}
	return lines
}

// grouped tells letters by hour, or by day if they are of many hours.
func grouped(hours []Hour) (lines []string) {
	layout := "2006-01-02 15:04"
	if len(hours) > byDay {
		layout = time.DateOnly
	}
	var names []string
	reasons := map[string]map[string]int{}
	for _, h := range hours {
		name := h.From.Format(layout)
		if reasons[name] == nil {
			names, reasons[name] = append(names, name), map[string]int{}
		}
		for reason, n := range h.Reasons {
			reasons[name][reason] += n
		}
	}
	for _, name := range names {
		lines = append(lines, name+"  "+counts(reasons[name]))
	}
	return lines
}

// counts tells numbers by name, the largest first.
func counts(of map[string]int) string {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s %d", name, of[name])
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
