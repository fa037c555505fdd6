package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"footfall/deployments/stack"
	"footfall/test/bench/live"
	"footfall/test/bench/machine"
	"footfall/test/bench/workload"
)

// report collects what was measured.
type report struct {
	Parts  int           // of earlier runs
	Took   time.Duration // of all runs
	Sync   string        `json:"-"` // commitlog_sync, where it is not that of `make up`
	Head   []string
	Tables []*table
	Texts  []named
	Goals  []named // lines of a table
}

// load goes on with what an earlier run has saved, if there is such a file; a run may be made in parts.
func (r *report) load(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	head := slices.Clone(r.Head)
	err = json.Unmarshal(data, r)
	if r.Sync == "" {
		r.Head = head
	}
	for _, t := range r.Tables {
		t.old = true
	}
	r.Parts++
	return err
}

func (r *report) save(path string) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// section adds a chapter, or puts it in the place of an older one.
func (r *report) section(name, text string) {
	fmt.Fprintf(os.Stderr, "%s\n%s\n", name, text)
	r.Texts = replace(r.Texts, named{name, text})
}

// named is a text with a name.
type named struct{ Name, Text string }

func replace(list []named, one named) []named {
	for i := range list {
		if list[i].Name == one.Name {
			list[i] = one
			return list
		}
	}
	return append(list, one)
}

// reach notes what was to be reached, and what was.
func (r *report) reach(what, goal string, got float64, reached bool) {
	verdict := "yes"
	if !reached {
		verdict = "**no**"
	}
	line := fmt.Sprintf("| %s | %s | %.3g | %s |", what, goal, got, verdict)
	fmt.Fprintln(os.Stderr, line)
	r.Goals = replace(r.Goals, named{what, line})
}

// judge compares footfall with the others, where both were measured.
func (r *report) judge() {
	for _, t := range r.Tables {
		ours := t.row(footfall.name)
		for _, rival := range []side{usualConsumer, batchingSink, spark} {
			theirs := t.row(rival.name)
			if ours == nil || theirs == nil {
				continue
			}
			ratio, goal := ours.rate()/theirs.rate(), cmp.Or(rival.goals[t.Workload], 1)
			r.reach(fmt.Sprintf("%s: footfall / %s, events/s", t.Workload, rival.title), fmt.Sprint(goal), ratio, ratio >= goal)
			if ours.ServerCPU > 0 && theirs.ServerCPU > 0 {
				ratio = theirs.cost() / ours.cost()
				r.reach(fmt.Sprintf("%s: footfall / %s, events per second of processor time, Cassandra's included", t.Workload, rival.title), "1", ratio, ratio >= 1)
			}
		}
		if ratio, events := t.againstLimit(); events > 0 && !strings.Contains(t.Workload, ",") {
			r.reach(fmt.Sprintf("%s: footfall / Cassandra's limit for the same statements, %d events", t.Workload, events), "0.8", ratio, ratio >= 0.8)
		}
		for _, row := range t.Rows {
			if t.Workload == "clicks" && row.Side == "footfall" {
				requests, keys := row.Requests/float64(row.Events), row.Keys/float64(row.Events)
				r.reach("requests to Cassandra per click", "≤ 0.2", requests, requests <= 0.2)
				r.reach("key mutations per click", "≤ 0.6", keys, keys <= 0.6)
			}
		}
	}
	if viral, zipf := r.rate("viral", "footfall"), r.rate("clicks", "footfall"); viral > 0 && zipf > 0 {
		r.reach("viral link: events/s / Zipf events/s", "≥ 1", viral/zipf, viral >= zipf)
	}
}

func (r *report) rate(of, side string) float64 {
	for _, t := range r.Tables {
		if t.Workload == of {
			return t.rate(side)
		}
	}
	return 0
}

// cost is the processor time of an event, in the process and in Cassandra.
func (m measured) cost() float64 { return (m.CPU + m.ServerCPU) / float64(m.Events) }

type table struct {
	Workload, About string
	Rows            []row

	old bool // of an earlier run: to be replaced, not continued
}

type row struct {
	Side, Title string
	Ours        bool
	measured
}

func newReport(ctx context.Context, b *bench) *report {
	var version, sync string
	_ = b.session.Query(`SELECT release_version FROM system.local`).WithContext(ctx).Scan(&version) // left empty if it does not tell
	_ = b.session.Query(`SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'`).WithContext(ctx).Scan(&sync)
	by := "make bench"
	if slices.ContainsFunc(live.Forms, func(f live.Form) bool { return b.only[f.Name] }) {
		by = "make bench-live"
	}
	if b.sync != "" {
		by += " SYNC=" + b.sync
	}
	if b.before != "" {
		by += " BEFORE=" + b.before
	}
	return &report{Sync: b.sync, Head: []string{
		fmt.Sprintf("Measured on %s by `%s`, of commit %s.", time.Now().UTC().Format("2 January 2006, 15:04 UTC"), by, machine.Commit()),
		fmt.Sprintf("Machine: %d × %s, %s of memory, shared by Kafka, Cassandra and all that is measured.", runtime.NumCPU(), machine.CPU(), machine.Memory()),
		fmt.Sprintf("Load average before: %s. Absolute figures are worth little where others work too; the ratios were measured side by side.", machine.Load()),
		fmt.Sprintf("Versions: %s, Cassandra %s (commitlog_sync: %s, one node), Kafka %s (one broker).", runtime.Version(), version, sync, stack.KafkaVersion),
	}}
}

func (r *report) add(w workload.Workload, s side, m measured) {
	if r.Sync != "" {
		w.Name += ", commitlog_sync " + r.Sync
	}
	if n := len(r.Tables); n == 0 || r.Tables[n-1].Workload != w.Name || r.Tables[n-1].old {
		r.Tables = slices.DeleteFunc(r.Tables, func(t *table) bool { return t.Workload == w.Name })
		r.Tables = append(r.Tables, &table{Workload: w.Name, About: w.About})
	}
	t := r.Tables[len(r.Tables)-1]
	t.Rows = append(t.Rows, row{s.name, s.title, s.processes > 0, m})
	place := func(r row) int { return slices.IndexFunc(sides, func(s side) bool { return s.name == r.Side }) }
	slices.SortStableFunc(t.Rows, func(a, b row) int { return cmp.Compare(place(a), place(b)) })
	fmt.Fprintf(os.Stderr, "%s, %s: %d events, %.0f/s, %.2f requests and %.2f statements per event, cpu %.2f and %.2f s/100k, %s %v %v, %.0f keys %s\n", w.Name, s.name,
		m.Events, m.rate(), m.Requests/float64(m.Events), m.Statements/float64(m.Events), m.CPU*1e5/float64(m.Events), m.ServerCPU*1e5/float64(m.Events), mib(m.Peak), m.Kinds, m.Values, m.Keys, m.Note)
}

func (r *report) write(w io.Writer) {
	fmt.Fprintln(w, "# Benchmarks")
	fmt.Fprintln(w)
	for _, line := range r.Head {
		fmt.Fprintln(w, line)
	}
	runs := "one run"
	if r.Parts > 0 {
		runs = fmt.Sprintf("%d runs, one part after the other,", r.Parts+1)
	}
	fmt.Fprintf(w, "Measured in %s of %.1f minutes.\n", runs, r.Took.Minutes())
	bearing := waiting
	if r.Sync == "periodic" {
		bearing = unsafe
	}
	if len(r.Tables) > 0 {
		fmt.Fprintf(w, about, bearing)
	}
	if len(r.Goals) > 0 {
		fmt.Fprint(w, "\n| what | at least | measured | reached |\n| --- | ---: | ---: | --- |\n")
		for _, goal := range r.Goals {
			fmt.Fprintln(w, goal.Text)
		}
	}
	for _, t := range r.Tables {
		t.write(w)
	}
	for _, text := range r.Texts {
		fmt.Fprintf(w, "\n## %s\n\n%s\n", text.Name, text.Text)
	}
}

func (t *table) write(w io.Writer) {
	fmt.Fprintf(w, "\n## %s\n\n%s; seed %d.\n\n", title(t.Workload), t.About, workload.Seed)
	fmt.Fprintln(w, "| side | events | events/s | footfall is | CPU s per 100k | Cassandra's | both, of footfall's | requests per event | statements per event | peak memory |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	for _, row := range t.Rows {
		times, ratio := t.rate(footfall.name)/row.rate(), "–"
		if row.Side == limit.name {
			times, _ = t.againstLimit()
		}
		if times > 0 && !row.Ours {
			digits := max(0, 2-len(strconv.Itoa(int(times))))
			if times < 1 {
				digits = 2
			}
			ratio = strconv.FormatFloat(times, 'f', digits, 64) + " ×"
		}
		n := float64(row.Events)
		server, both, requests, statements := "–", "–", "–", "–"
		if row.ServerCPU > 0 {
			server = fmt.Sprintf("%.1f", row.ServerCPU*1e5/n)
			ours := t.row(footfall.name)
			if row.Side == limit.name && ours != nil && ours.Events != row.Events {
				ours = t.row(beside.name)
			}
			if ours != nil && !row.Ours && ours.ServerCPU > 0 && row.Side != "kafka" { // which Cassandra does not notice
				both = fmt.Sprintf("%.1f ×", row.cost()/ours.cost())
			}
		}
		if row.Side != spark.name { // its connector does not tell
			requests, statements = fmt.Sprintf("%.3f", row.Requests/n), fmt.Sprintf("%.2f", row.Statements/n)
		}
		fmt.Fprintf(w, "| %s | %d | %.0f | %s | %.1f | %s | %s | %s | %s | %s |\n", row.Title, row.Events, row.rate(), ratio,
			row.CPU*1e5/n, server, both, requests, statements, mib(row.Peak))
	}
	for _, row := range t.Rows {
		if row.Note != "" {
			fmt.Fprintf(w, "\n%s: %s.\n", row.Title, row.Note)
		}
	}
}

func (t *table) row(name string) *row {
	for i := range t.Rows {
		if t.Rows[i].Side == name {
			return &t.Rows[i]
		}
	}
	return nil
}

func (t *table) rate(name string) float64 {
	if row := t.row(name); row != nil {
		return row.rate()
	}
	return 0
}

// againstLimit is footfall's rate in parts of Cassandra's limit, and how many events both were measured on; 0 if they were not.
func (t *table) againstLimit() (ratio float64, events int) {
	for _, most := range t.Rows {
		for _, ours := range t.Rows {
			if most.Side == limit.name && (ours.Side == footfall.name || ours.Side == beside.name) && ours.Events == most.Events {
				return ours.rate() / most.rate(), most.Events
			}
		}
	}
	return 0, 0
}

func mib(bytes int64) string {
	if bytes <= 0 {
		return "–"
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// about says who is compared.
const about = `
- **Kafka's limit** reads the topic and does nothing.
- **The usual consumer** makes an INSERT … IF NOT EXISTS for each row that remembers the visitor and an UPDATE for each counter,
  one after the other, 64 events at once.
- **The batching sink** is what who knows Cassandra well would write. It sums the events of a second, or 20,000, and goes on summing, up to 300,000,
  while the sum before is written: each counter once, up to 200 in a request, 256 requests at once. It writes the row of a visitor, in footfall's shape, unless it knows that it has; it knows a million.
  It cannot tell who is new, so it counts no uniques, and what fails is counted twice or not at all.
- **Spark Structured Streaming** with the Cassandra connector is not ours; the job is (test/bench/spark). It sums 110,000 clicks at a time in foreachBatch, which Spark
  repeats after a crash, adds the sums to the counters, and asks the table of visitors who is new. It drops no duplicates and lists no names. All tables at once, more tasks than
  processors, and 50 or 100 rows a request were no faster; rows of a link one after the other took half the time. It counts the same clicks into other tables
  before it is measured, since Java compiles as it runs. For clicks only.
- **Cassandra's limit** is a bare loop. It sends the very requests that footfall sent in a run of its own on the same events, to fresh tables, as
  many at once as a consumer may have under way for one chunk. Limit and footfall are each the mean of two runs, in the
  order of limit, footfall, footfall, limit. Visits take long: for this comparison alone both are measured on the first quarter, with no
  more in the topic.
%s
After each run clicks or views, and unique visitors, are added up: footfall's and Spark's must hold every event and every visitor once, or there is no report.

The clock runs from the first message (of footfall: from when the group has given it its partitions; of Spark: from its first batch; of Cassandra's limit: from the
first request) to the last acknowledged write. The usual consumer and the sink may take a minute only. Requests and statements are those to Cassandra.
`

// How commitlog_sync bears on the comparison.
const (
	waiting = `
The rivals run for a while before they are measured, so that Cassandra has compiled its code. The usual consumer spends most of its time waiting: with
commitlog_sync: group, which exactness needs, each of its writes waits for the log's sync. The columns of processor time tell what the work itself costs.
`
	unsafe = `
The rivals run for a while before they are measured, so that Cassandra has compiled its code.

With this commitlog_sync, Cassandra's default, no write waits for the log. A node that crashes then loses what it acknowledged in the last
ten seconds, and nobody's counts are exact.
`
)
