package e2e

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// mostKept is how many bytes of memory the producer may keep for each event in the long run. It should keep none; requests under way and
// the garbage collector make the figure uneven.
const mostKept = 150

// memory is how much memory the producer used, and how many events it had taken, at one moment.
type memory struct {
	after  time.Duration
	live   float64 // bytes that the last garbage collection found in use
	events float64
}

// watchMemory reads the metrics at admin four times a second until ctx ends. It does not look at resident memory, half of which may be
// garbage not yet collected.
func watchMemory(ctx context.Context, admin string) []memory {
	var all []memory
	began := time.Now()
	for ctx.Err() == nil {
		if m, err := measure(ctx, admin); err == nil {
			m.after = time.Since(began)
			all = append(all, m)
		}
		select {
		case <-ctx.Done():
		case <-time.After(250 * time.Millisecond):
		}
	}
	return all
}

func measure(ctx context.Context, admin string) (m memory, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, admin+"/metrics", nil)
	if err != nil {
		return m, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return m, err
	}
	defer func() { _ = response.Body.Close() }() // only read
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil:
		case name == "go_memstats_next_gc_bytes":
			m.live = value / 2 // with GOGC 100 the next collection comes at twice the live bytes
		case strings.HasPrefix(name, "footfall_producer_events_total"):
			m.events += value
		}
	}
	return m, lines.Err()
}

// flat compares the last quarter of a run with the second quarter: memory that grows with the events is a leak.
func flat(all []memory) (line string, err error) {
	n := len(all)
	if n < 16 {
		return "", fmt.Errorf("%d measurements of memory", n)
	}
	median := func(part []memory, of func(memory) float64) float64 {
		values := make([]float64, len(part))
		for i, m := range part {
			values[i] = of(m)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	live := func(m memory) float64 { return m.live }
	events := func(m memory) float64 { return m.events }
	early, late := all[n/4:n/2], all[n-n/4:]
	grown := median(late, live) - median(early, live)
	taken := median(late, events) - median(early, events)
	var measured []string
	for i := 0; i < n; i += max(1, n/12) {
		measured = append(measured, fmt.Sprintf("%.0f s: %.1f", all[i].after.Seconds(), all[i].live/(1<<20)))
	}
	line = fmt.Sprintf("MiB in use: %s; %+.1f MiB over %.0f events, %.0f bytes each", strings.Join(measured, ", "), grown/(1<<20), taken, grown/max(taken, 1))
	switch {
	case taken < 1000:
		return line, fmt.Errorf("%.0f events are too little load", taken)
	case grown > mostKept*taken:
		return line, fmt.Errorf("more than %d bytes are kept for each event", mostKept)
	}
	return line, nil
}

// TestFlat: memory that varies without growing passes; with 300 bytes more for each event it does not.
func TestFlat(t *testing.T) {
	run := func(leak float64) []memory {
		var all []memory
		for i := range 32 { // 8 s
			events := float64(i) * 1500
			uneven := float64(i*7919%11) * (2 << 20) / 11
			all = append(all, memory{after: time.Duration(i) * 250 * time.Millisecond, live: 10<<20 + uneven + leak*events, events: events})
		}
		return all
	}
	if line, err := flat(run(0)); err != nil {
		t.Errorf("%s: %v", line, err)
	}
	if line, err := flat(run(300)); err == nil {
		t.Errorf("a leak of 300 bytes an event passes: %s", line)
	}
	if _, err := flat(run(0)[:8]); err == nil {
		t.Error("few measurements pass")
	}
}
