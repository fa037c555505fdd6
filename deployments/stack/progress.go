package stack

import (
	"bufio"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// downloads counts the downloads in Maven's output. Maven fills its own cache first and copies at the end, so the target folder shows no
// progress.
type downloads struct {
	name string
	logf func(string, ...any)

	mu    sync.Mutex
	files int
	bytes float64
}

// follow reads Maven's output to its end, logs a progress line every five seconds, and returns the last lines about errors.
func (d *downloads) follow(lines *bufio.Scanner) []string {
	done := make(chan struct{})
	defer close(done)
	go func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				d.logf("fetching the jars of %s: %s so far", d.name, d)
			}
		}
	}()
	var tail []string
	for lines.Scan() {
		d.line(lines.Text())
		if strings.Contains(lines.Text(), "ERROR") {
			tail = append(tail, lines.Text())
		}
	}
	return tail[max(0, len(tail)-10):]
}

// downloaded matches "Downloaded from central: https://… (53 kB at 1.2 MB/s)".
var downloaded = regexp.MustCompile(`Downloaded from .*\(([0-9.]+) ([kMG]?B)`)

func (d *downloads) line(s string) {
	m := downloaded.FindStringSubmatch(s)
	if m == nil {
		return
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return
	}
	unit := map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[m[2]]
	d.mu.Lock()
	defer d.mu.Unlock()
	d.files++
	d.bytes += n * unit
}

func (d *downloads) String() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return fmt.Sprintf("%d files, %.0f MB downloaded", d.files, d.bytes/1e6)
}
