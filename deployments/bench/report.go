package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"footfall/deployments/stack"
)

// report collects what was measured, in the order in which it was.
type report struct {
	head   []string
	tables []*table
}

type table struct {
	workload workload
	rows     []row
}

type row struct {
	side side
	measured
}

func newReport(ctx context.Context, b *bench) *report {
	var version, sync string
	_ = b.session.Query(`SELECT release_version FROM system.local`).WithContext(ctx).Scan(&version) // left empty if it does not tell
	_ = b.session.Query(`SELECT value FROM system_views.settings WHERE name = 'commitlog_sync'`).WithContext(ctx).Scan(&sync)
	return &report{head: []string{
		fmt.Sprintf("Measured on %s by `make bench`.", time.Now().UTC().Format("2 January 2006, 15:04 UTC")),
		fmt.Sprintf("Machine: %d × %s, %s of memory, shared by Kafka, Cassandra and all that is measured.", runtime.NumCPU(), cpuModel(), memory()),
		fmt.Sprintf("Versions: %s, Cassandra %s (commitlog_sync: %s, one node), Kafka %s (one broker).", runtime.Version(), version, sync, stack.KafkaVersion),
	}}
}

func (r *report) add(w workload, s side, m measured) {
	if n := len(r.tables); n == 0 || r.tables[n-1].workload.name != w.name {
		r.tables = append(r.tables, &table{workload: w})
	}
	t := r.tables[len(r.tables)-1]
	t.rows = append(t.rows, row{s, m})
	fmt.Fprintf(os.Stderr, "%s, %s: %d events, %.0f/s, %.2f requests and %.2f statements per event, cpu %.2f and %.2f s/100k, %s %v %v late %.3f %.3f %s\n", w.name, s.name,
		m.Events, m.rate(), m.Requests/float64(m.Events), m.Statements/float64(m.Events), m.CPU*1e5/float64(m.Events), m.ServerCPU*1e5/float64(m.Events), mib(m.Peak), m.Kinds, m.Values, m.LateRequests, m.LateKeys, m.Note)
}

func (r *report) write(w io.Writer) {
	fmt.Fprintln(w, "# Benchmarks")
	fmt.Fprintln(w)
	for _, line := range r.head {
		fmt.Fprintln(w, line)
	}
	for _, t := range r.tables {
		t.write(w)
	}
}

func (t *table) write(w io.Writer) {
	fmt.Fprintf(w, "\n## %s\n\n%s; seed %d.\n\n", strings.ToUpper(t.workload.name[:1])+t.workload.name[1:], t.workload.about, seed)
	fmt.Fprintln(w, "| side | events | events/s | footfall is | requests per event | statements per event | CPU s per 100k | peak memory |")
	fmt.Fprintln(w, "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
	ours := t.rate("footfall")
	for _, row := range t.rows {
		ratio := "–"
		if ours > 0 && row.side.processes == 0 {
			ratio = fmt.Sprintf("%.2g ×", ours/row.rate())
		}
		n := float64(row.Events)
		fmt.Fprintf(w, "| %s | %d | %.0f | %s | %.3f | %.2f | %.1f | %s |\n", row.side.title, row.Events, row.rate(), ratio,
			row.Requests/n, row.Statements/n, row.CPU*1e5/n, mib(row.Peak))
	}
	for _, row := range t.rows {
		if row.Note != "" {
			fmt.Fprintf(w, "\n%s: %s.\n", row.side.title, row.Note)
		}
	}
}

func (t *table) rate(name string) float64 {
	for _, row := range t.rows {
		if row.side.name == name {
			return row.rate()
		}
	}
	return 0
}

func mib(bytes int64) string {
	if bytes <= 0 {
		return "–"
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimSpace(strings.TrimLeft(name, "\t :"))
		}
	}
	return runtime.GOARCH
}

func memory() string {
	info, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return "an unknown amount"
	}
	var kib int64
	if _, err := fmt.Sscanf(string(info), "MemTotal: %d kB", &kib); err != nil {
		return "an unknown amount"
	}
	return fmt.Sprintf("%d GiB", kib>>20)
}
