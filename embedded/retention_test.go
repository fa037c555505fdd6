package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestBoundedLog: while events come in and are counted, the log is trimmed again and again, after a restart too. The counts are right, and
// events sent again are not counted twice.
func TestBoundedLog(t *testing.T) {
	defer func(d time.Duration) { trimInterval = d }(trimInterval)
	trimInterval = 20 * time.Millisecond
	t.Setenv("FOOTFALL_DATA_LOG_BYTES", "1")
	t.Setenv("FOOTFALL_DUPLICATES_WINDOW", "200")
	const rounds, batches, events, text = 2, 12, 400, 1000
	dir := t.TempDir()
	sent := int64(0)
	for round := range rounds {
		f := start(t, dir)
		for b := range batches {
			lines := make([]string, events)
			for i := range lines {
				n := (round*batches+b)*events + i
				lines[i] = fmt.Sprintf(`{"id":"%d","short_url":"abc","ip":"10.0.%d.%d","referrer":"%s"}`, n, n/256, n%256, strings.Repeat("x", text))
			}
			for range 2 { // each batch twice
				body := strings.NewReader(strings.Join(lines, "\n"))
				response, err := http.Post(f.url+"/v1/clicks", "application/x-ndjson", body)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				if response.StatusCode/100 != 2 {
					t.Fatalf("a batch = %s", response.Status)
				}
			}
			sent += events
		}
		eventually(t, reader(t, dir), sent, clicks)
		eventually(t, reader(t, dir), sent, "SELECT value FROM urlshortener.uniquecounter WHERE short_url = 'abc'")
		if err := f.stop(); err != nil {
			t.Fatal(err)
		}
		left := size(t, dir)
		t.Logf("round %d: %d bytes of log are left of %d or more", round, left, 2*sent*text)
		if left > 12<<20 || left < 1<<20 { // a mebibyte or so of each partition, and the window
			t.Error("want 1 to 12 MiB")
		}
		if log := f.log.String(); strings.Contains(log, "smaller") || strings.Contains(log, "deleted") {
			t.Errorf("round %d: %s", round, log)
		}
	}
}
