// Package doctor runs checks of a deployment at the same time, and tells what they found: faults first, and of these the cause first. The
// doctors of the producer and of the consumer share it.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Severity says how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	Fault   Severity = "fault"   // events are refused, lost or not counted, or counts may become wrong
	Warning Severity = "warning" // nothing is wrong yet, or it is not certain
	Skipped Severity = "skipped" // not checked, because something that the check needs has a fault
	OK      Severity = "ok"
)

var severities = []Severity{Fault, Warning, Skipped, OK}

// Finding is one thing that a check found.
type Finding struct {
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Remedy   string   `json:"remedy,omitempty"` // what to do; empty if nothing is to be done
	// Seconds is what the check measured; 0: nothing. Only the canary measures.
	Seconds float64 `json:"seconds,omitempty"`
}

// Findings are what a check found. Each constructor makes one of one finding.
type Findings []Finding

func finding(s Severity, remedy, format string, args ...any) Findings {
	return Findings{{Severity: s, What: fmt.Sprintf(format, args...), Remedy: remedy}}
}

// Faulty is a finding of something that is wrong, with its remedy.
func Faulty(remedy, format string, args ...any) Findings {
	return finding(Fault, remedy, format, args...)
}

// Doubtful is a finding of something that may become wrong, with its remedy.
func Doubtful(remedy, format string, args ...any) Findings {
	return finding(Warning, remedy, format, args...)
}

// Fine is a finding of something that is as it should be.
func Fine(format string, args ...any) Findings { return finding(OK, "", format, args...) }

// NotChecked is a finding of something that could not be looked at.
func NotChecked(format string, args ...any) Findings { return finding(Skipped, "", format, args...) }

// Add adds what else was found.
func (f *Findings) Add(more Findings) { *f = append(*f, more...) }

// OrFine is what was found, or Fine if that is nothing.
func (f Findings) OrFine(format string, args ...any) Findings {
	if len(f) > 0 {
		return f
	}
	return Fine(format, args...)
}

// Check looks at one thing.
type Check struct {
	Name string
	// Needs names checks that have to run first. If one of them finds a fault, or was skipped, this one is skipped: it would only repeat
	// that fault.
	Needs []string
	// Within bounds how long it may take. Default: 5 s.
	Within time.Duration
	// Run returns at least one finding. The doctor fills in the findings' Check. What it leaves for checks that need it, those may read.
	Run func(ctx context.Context) Findings
}

const defaultWithin = 5 * time.Second

// Report is what all checks found, the worst first; among equals, in the order of the checks, which is the order of causes.
type Report struct {
	Command  string    `json:"command"` // whose doctor it is: producer or consumer
	Healthy  bool      `json:"healthy"` // there is no fault
	Seconds  float64   `json:"seconds"` // that the checks took together
	At       time.Time `json:"at"`
	Findings []Finding `json:"findings"`

	checks []string
}

// Examine runs the checks, those that do not need each other at the same time. A check that another needs comes before it in the list. If ctx
// ends, checks that are under way find that they were not answered.
func Examine(ctx context.Context, command string, checks []Check) Report {
	begun := time.Now()
	done := map[string]*result{}
	for _, c := range checks {
		r := &result{ended: make(chan struct{})}
		needs := map[string]*result{}
		for _, name := range c.Needs {
			if done[name] == nil {
				panic("check " + c.Name + " needs " + name + ", which does not come before it")
			}
			needs[name] = done[name]
		}
		done[c.Name] = r
		go r.run(ctx, c, needs)
	}
	report := Report{Command: command, Healthy: true, At: begun.UTC().Round(time.Millisecond)}
	for _, c := range checks {
		r := done[c.Name]
		<-r.ended
		report.checks = append(report.checks, c.Name)
		report.Findings = append(report.Findings, r.findings...)
		report.Healthy = report.Healthy && !r.has(Fault)
	}
	slices.SortStableFunc(report.Findings, func(a, b Finding) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	report.Seconds = time.Since(begun).Seconds()
	return report
}

// result is what became of a check.
type result struct {
	ended    chan struct{} // closed when findings are complete
	findings Findings
}

func (r *result) has(s Severity) bool {
	return slices.ContainsFunc(r.findings, func(f Finding) bool { return f.Severity == s })
}

func (r *result) run(ctx context.Context, c Check, needs map[string]*result) {
	defer close(r.ended)
	defer func() {
		for i := range r.findings {
			r.findings[i].Check = c.Name
		}
	}()
	for _, name := range c.Needs {
		if <-needs[name].ended; needs[name].has(Fault) || needs[name].has(Skipped) {
			r.findings = NotChecked("not checked: it needs %s", name)
			return
		}
	}
	r.findings = within(ctx, c)
}

// within runs a check, and returns without it if it does not heed its deadline: a driver may hang.
func within(ctx context.Context, c Check) Findings {
	limit := c.Within
	if limit == 0 {
		limit = defaultWithin
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	found := make(chan Findings, 1)
	go func() { found <- c.Run(ctx) }()
	select {
	case findings := <-found:
		return findings
	case <-ctx.Done():
	}
	select {
	case findings := <-found: // it heeds the deadline, and knows more
		return findings
	case <-time.After(grace):
	}
	why := fmt.Sprintf("there was no answer within %v", limit)
	if errors.Is(ctx.Err(), context.Canceled) {
		why = "the doctor was stopped before there was an answer"
	}
	return Faulty("look whether the server hangs, or the network drops packets: its log, and the way to it", "%s", why)
}

// grace is how long a check has to say what it was waiting for when its deadline is over.
const grace = 500 * time.Millisecond
