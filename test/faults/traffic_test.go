package faults

import (
	"sync"
	"testing"
	"time"

	"footfall/test/e2e/load"
)

// rate is how many events a second are sent, if the producer keeps up.
const rate = 200

// traffic is a load that goes on until it is stopped.
type traffic struct {
	events []load.Event
	stop   chan struct{}
	done   chan struct{}
	result *load.Result
	err    error
}

// plenty is more events than any fault has time for.
const plenty = 150_000

// send begins to send events at the usual rate, three in a hundred of them twice, with dead letters between them.
func (w *world) send(t *testing.T, seed uint64) *traffic {
	t.Helper()
	return w.sendAt(t, seed, plenty, rate)
}

func (w *world) sendAt(t *testing.T, seed uint64, n, rate int) *traffic {
	t.Helper()
	return w.sendThese(t, seed, load.Make(seed, n), load.Order(seed, n), rate)
}

// sendThese sends events in the order given, with dead letters between them.
func (w *world) sendThese(t *testing.T, seed uint64, events []load.Event, order []int, rate int) *traffic {
	t.Helper()
	tr := &traffic{events: events, stop: make(chan struct{}), done: make(chan struct{})}
	w.sent = append(w.sent, tr)
	begun := time.Now()
	client := &load.Client{
		URL: "http://" + w.addr, Stop: tr.stop, Stubborn: true,
		Pace: func(place int) {
			select {
			case <-tr.stop:
			case <-time.After(time.Until(begun.Add(time.Duration(place) * time.Second / time.Duration(rate)))):
			}
		},
	}
	go func() {
		defer close(tr.done)
		sent := make(chan struct{})
		var littering sync.WaitGroup
		littering.Go(func() { w.litterUntil(sent, seed) })
		tr.result, tr.err = client.Send(t.Context(), tr.events, order)
		close(sent)
		littering.Wait()
	}()
	return tr
}

// over reports whether all is sent, so that no more progress can be expected.
func (tr *traffic) over() bool {
	select {
	case <-tr.done:
		return true
	default:
		return false
	}
}

// end stops the load and waits until every request under way is answered.
func (tr *traffic) end(t *testing.T) {
	t.Helper()
	close(tr.stop)
	tr.wait(t)
}

// wait waits until all is sent.
func (tr *traffic) wait(t *testing.T) {
	t.Helper()
	select {
	case <-tr.done:
	case <-time.After(3 * time.Minute):
		t.Fatal("the load has not ended")
	}
	if tr.err != nil {
		t.Fatal(tr.err)
	}
}
