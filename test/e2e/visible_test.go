package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/load"
)

// An accepted event is in the tables at most two seconds later, under a light load.
func TestCountIsVisibleWithinTwoSeconds(t *testing.T) {
	const promise, probes = 2 * time.Second, 20
	onEach(t, func(t *testing.T, d deployment) {
		defer lightLoad(t, d)()
		probe(t, d, "warm-up", time.Minute) // a consumer that has just started must join its group first
		took := make([]time.Duration, probes)
		for i := range took {
			took[i] = probe(t, d, fmt.Sprintf("probe-%d", i), time.Minute)
		}
		slices.Sort(took)
		t.Logf("from 202 to visible: %v", took)
		if late := took[probes-1-probes/10]; late > promise { // a tenth may be later: others work on this machine, too
			t.Errorf("more than a tenth of the counts were visible only after %s or later, want nine of ten within %s", late, promise)
		}
	})
}

// probe sends one click without an id or a time, as simple senders do, and returns how long it takes until the count can be read.
func probe(t *testing.T, d deployment, link string, patience time.Duration) time.Duration {
	t.Helper()
	resp, err := http.Post(d.producerURL()+"/v1/clicks", "application/json", strings.NewReader(`{"short_url":"`+link+`","ip":"192.0.2.1"}`))
	if err != nil {
		t.Fatal(err)
	}
	accepted := time.Now()
	answer, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusAccepted {
		t.Fatalf("the producer answered %s: %s", resp.Status, answer)
	}
	for time.Since(accepted) < patience {
		switch n := d.clicks(t, link); n {
		case 0:
			time.Sleep(10 * time.Millisecond)
		case 1:
			return time.Since(accepted).Round(time.Millisecond)
		default:
			t.Fatalf("one click on %s was counted as %d", link, n)
		}
	}
	t.Fatalf("the click on %s was not counted within %s", link, patience)
	return 0
}

// lightLoad sends about fifty events a second until stop is called.
func lightLoad(t *testing.T, d deployment) (stop func()) {
	t.Helper()
	stopped := make(chan struct{})
	client := &load.Client{URL: d.producerURL(), Connections: 2, Stop: stopped, Pace: func(int) {
		select {
		case <-stopped:
		case <-time.After(40 * time.Millisecond):
		}
	}}
	const n = 20_000
	wait := sendBehind(t, client, load.Make(5, n), load.Order(5, n))
	return func() {
		close(stopped)
		wait()
	}
}
