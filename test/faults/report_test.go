package faults

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// row is one line of the table: a fault and what it did.
type row struct {
	fault      string
	hits       string // how often it came in the midst of a flush
	events     int64
	duplicates int64
	dead       int64
	cells      int // compared
	first      int // wrong when the consumers had just caught up
	wrong      int // at the end
	doubts     int
	repaired   int // ledger rows of repairs
	recovered  time.Duration
	audit      string
	clean      bool // the audit's exit code was 0
	note       string
	control    bool // must be wrong
	failed     bool // the test failed
}

var summary = regexp.MustCompile(`\d+ keys read in .*`)

// report is the table of a run.
type report []*row

// String is the table of faults and the table of controls, in the form of docs/faults.md.
func (rs report) String() string {
	var faults, controls strings.Builder
	for _, r := range rs {
		if r.control {
			fmt.Fprintf(&controls, "| %s | %s | %d | %d | %d | %s |\n", r.fault, r.hits, r.events, r.cells, r.wrong, r.notes())
		} else {
			fmt.Fprintf(&faults, "| %s | %s | %d | %d | %d | %d | %.1f s | %s |\n",
				r.fault, r.hits, r.events, r.cells, r.wrong, r.repaired, r.recovered.Seconds(), r.notes())
		}
	}
	var out []string
	if faults.Len() > 0 {
		out = append(out, "| fault | hits | events | cells compared | wrong | repaired | time to recover | notes |\n"+
			"| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |\n"+faults.String())
	}
	if controls.Len() > 0 {
		out = append(out, "| control | hits | events | cells compared | wrong | notes |\n"+
			"| --- | --- | ---: | ---: | ---: | --- |\n"+controls.String())
	}
	return strings.Join(out, "\n")
}

func (r *row) notes() string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if r.failed {
		add("FAILED")
	}
	if r.note != "" {
		add("%s", r.note)
	}
	if r.doubts > 0 {
		add("%d doubts", r.doubts)
	}
	if r.first > r.wrong {
		add("%d cells off at first", r.first)
	}
	if r.duplicates > 0 {
		add("%d duplicates in the log", r.duplicates)
	}
	if r.dead > 0 {
		add("%d dead letters", r.dead)
	}
	if r.clean && r.wrong > 0 {
		add("the audit saw nothing")
	}
	if !r.clean && r.audit != "" {
		_, found, _ := strings.Cut(r.audit, ": ")
		add("audit: %s", found)
	}
	return strings.Join(notes, "; ")
}

// save writes the table to the file of -faults.table, if there is one.
func (rs report) save(t *testing.T) {
	t.Helper()
	if *table == "" {
		return
	}
	if err := os.WriteFile(*table, []byte(rs.String()), 0o644); err != nil {
		t.Error(err)
	}
}
