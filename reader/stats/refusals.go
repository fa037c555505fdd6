package stats

import (
	"fmt"
	"strings"

	"footfall/models"
)

// NotKept says that the tables do not have the answer, and that nothing they have adds up to it.
type NotKept struct {
	Asked   string   // what was asked for, for people, as one thing: it "is not kept"
	Instead []string // what can be asked instead, each for people; may be empty
}

func (e *NotKept) Error() string {
	if len(e.Instead) == 0 {
		return e.Asked + " is not kept"
	}
	return e.Asked + " is not kept; ask for " + strings.Join(e.Instead, ", or for ")
}

// NotAligned says that a range cuts an hour, day, week or month in two.
type NotAligned struct {
	Unit    Unit
	Asked   Range
	Aligned Range // the smallest one of whole units that has all of Asked
}

func (e *NotAligned) Error() string {
	return fmt.Sprintf("from %s to %s is no range of whole %ss; the next larger one is from %s to %s", moment(e.Asked.From), moment(e.Asked.To),
		e.Unit, moment(e.Aligned.From), moment(e.Aligned.To))
}

// Malformed says that a question cannot be understood.
type Malformed struct {
	Field  string // the parameter's name
	Detail string // what it should be, for people
}

func (e *Malformed) Error() string { return e.Field + ": " + e.Detail }

// TooMuch says that an answer would read more than one question may.
type TooMuch struct {
	Asked string // what was asked for, for people
	Most  string // what may be asked for at once
}

func (e *TooMuch) Error() string { return e.Asked + " at once: ask for " + e.Most + " at the most" }

// moment writes one end of a range.
func moment(t models.Millis) string {
	if t == 0 {
		return "open"
	}
	return t.Time().Format("2006-01-02T15:04:05Z07:00")
}
