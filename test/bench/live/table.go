package live

import (
	"fmt"
	"slices"
	"strings"

	"footfall/test/bench/workload"
)

// chapter tells what came of a search, or of holding a rate.
func chapter(o *Options, f Form, sides []*side) string {
	text := &strings.Builder{}
	fmt.Fprintf(text, "%s; seed %d. Each side has a topic and tables of its own, one producer and one consumer, which run from step to step.\n\n", f.About, workload.Seed)
	fmt.Fprint(text, header(sides))
	for _, line := range lines {
		fmt.Fprintf(text, "\n| %s |", line.what)
		var values []float64
		for _, s := range sides {
			v, ok := line.of(s)
			if values = append(values, v); ok {
				fmt.Fprintf(text, " "+line.format+" |", v)
			} else {
				fmt.Fprint(text, " – |")
			}
		}
		if len(values) == 2 && values[0] > 0 {
			fmt.Fprintf(text, " %.2f |", values[1]/values[0])
		} else if len(values) == 2 {
			fmt.Fprint(text, " – |")
		}
	}
	length := o.step
	if o.hold > 0 {
		length = o.hold
	}
	fmt.Fprintf(text, "\n\nKafka and Cassandra are charged with all that they did meanwhile, and the senders with all that the bench did.\n\nThe steps, each of %s after %s of settling (less if the lag reached %[3]s of the rate). A rate is held if 99 %% of the events are accepted"+
		" within %s of when they happen, and 99 %% are counted within %[3]s. The most lag of the last quarter may exceed that of the first by no more than %[5]s of the rate. After each step"+
		" the tables are compared with what was sent.\n\n", length, o.settle, o.age, inTime, lagGrowth)
	fmt.Fprint(text, "| side | events/s | held | accepted in time | answered, p99 | most lag, first → last quarter | counted/s | age p50, p99 |\n| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
	for _, s := range sides {
		for _, out := range s.steps {
			held := "yes"
			if !out.held() {
				held = "no: " + out.why()
			}
			fmt.Fprintf(text, "\n| %s | %.0f | %s | %.1f %% | %.0f ms | %.0f → %.0f | %.0f | %.2f s, %.2f s |", s.Name, out.rate, held, 100*out.accepted/max(1, out.due),
				1e3*out.answer.Seconds(), out.lagBegin, out.lagEnd, out.counted, out.p50.Seconds(), out.p99.Seconds())
		}
	}
	for _, s := range sides {
		if len(s.lags) > 0 {
			fmt.Fprintf(text, "\n\nLag of %s every ten seconds: %s.", s.Name, strings.Join(s.lags, ", "))
		}
	}
	return text.String()
}

func header(sides []*side) string {
	names, under := "| |", "| --- |"
	for _, s := range sides {
		names, under = names+" "+s.Name+" |", under+" ---: |"
	}
	if len(sides) == 2 {
		names, under = names+" ratio |", under+" ---: |"
	}
	return names + "\n" + under
}

// best is the step of the highest rate that was held; over that of the highest rate that was not.
func (s *side) best() (best outcome, ok bool) { return s.highest(true) }
func (s *side) over() (over outcome, ok bool) { return s.highest(false) }

func (s *side) highest(held bool) (best outcome, ok bool) {
	for _, out := range s.steps {
		if out.held() == held && out.rate > best.rate {
			best, ok = out, true
		}
	}
	return best, ok
}

// line is a row of the table.
type line struct {
	what, format string
	of           func(*side) (float64, bool)
}

// lines of the table. What an event costs is told of the highest rate that was held, or else of an overloaded step.
var lines = slices.Concat([]line{
	{"highest rate held, events/s", "**%.0f**", func(s *side) (float64, bool) { out, ok := s.best(); return out.rate, ok }},
	{"lowest rate not held", "%.0f", func(s *side) (float64, bool) { return s.search.least, s.search.least > 0 }},
	{"counted/s when overloaded", "%.0f", func(s *side) (float64, bool) { out, ok := s.over(); return out.counted, ok }},
	{"counted/s of the backlog, when senders had stopped", "%.0f", func(s *side) (float64, bool) { out, ok := s.over(); return out.drained, ok }},
}, costs(), []line{
	{"most lag in the last quarter, events", "%.0f", at(func(o outcome) float64 { return o.lagEnd })},
	{"age when counted, p50, s", "%.2f", at(func(o outcome) float64 { return o.p50.Seconds() })},
	{"age when counted, p99, s", "%.2f", at(func(o outcome) float64 { return o.p99.Seconds() })},
	{"peak memory of the consumer, MiB", "%.0f", at(func(o outcome) float64 { return float64(o.peak >> 20) })},
})

func costs() (list []line) {
	for _, who := range workers {
		list = append(list, line{"CPU s per 100k events: " + who, "%.1f", at(func(o outcome) float64 { return o.cpu[who] })})
	}
	for _, what := range []struct{ name, title string }{
		{"requests", "requests to Cassandra"}, {"statements", "statements"}, {"keys", "keys written"}, {"lookups", "sightings looked up"}, {"ledger", "ledgers read"},
	} {
		list = append(list, line{what.title + " per event", "%.3f", at(func(o outcome) float64 { return o.per[what.name] })})
	}
	return list
}

// at reads a value off the step that tells what an event costs.
func at(of func(outcome) float64) func(*side) (float64, bool) {
	return func(s *side) (float64, bool) {
		out, ok := s.best()
		if !ok {
			out, ok = s.over()
		}
		return of(out), ok
	}
}
