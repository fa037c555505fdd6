package doctor

import "regexp"

// imperative is where an error of ours begins to say what to do.
var imperative = regexp.MustCompile("(?:[:;,.?] )((?:[Rr]un|[Ss]et|[Uu]se|[Ss]top|[Ss]tart|[Rr]estore|[Gg]ive|[Mm]end|[Rr]aise|[Cc]heck|[Cc]reate|These tables cannot go on) .*)$")

// FromError makes a fault of an error. Our errors say what to do after they said what is wrong: that is the finding's remedy. otherwise is the remedy
// of an error that does not say it.
func FromError(err error, otherwise string) Findings {
	text := err.Error()
	if at := imperative.FindStringSubmatchIndex(text); at != nil {
		return Faulty(text[at[2]:at[3]], "%s", text[:at[0]])
	}
	return Faulty(otherwise, "%s", text)
}
