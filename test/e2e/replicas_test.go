package e2e

import (
	"sync/atomic"
	"testing"
	"time"

	"footfall/test/e2e/load"
)

// Consumers join and leave while events come in: one, then three, then one. No event is lost and none is counted twice.
func TestReplicasComeAndGo(t *testing.T) {
	d := newReal(t, 1)
	const n = 50_000
	events, order := load.Make(3, n), load.Order(3, n)

	// Until the changes are over the load is light, and lighter still after two thirds of the events, so that it does not end before
	// them. Then it goes as fast as it can.
	changed := make(chan struct{})
	var sent atomic.Int64
	client := &load.Client{URL: d.producerURL(), Pace: func(int) {
		wait := 40 * time.Millisecond
		if sent.Add(1) > n*2/3 {
			wait *= 10
		}
		select {
		case <-changed:
		case <-time.After(wait):
		}
	}}
	wait := sendBehind(t, client, events, order)

	begun := time.Now()
	reached := func(members int) {
		t.Helper()
		d.stable(t, members)
		stable := time.Since(begun)
		d.progress(t)
		t.Logf("%d consumers: stable after %s, all partitions counted on after %s", members,
			stable.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
		begun = time.Now()
	}
	reached(1)
	second, third := d.addConsumer(t), d.addConsumer(t)
	reached(3)
	stop(t, second.Process)
	reached(2)
	stop(t, third.Process)
	reached(1)
	during := sent.Load()
	close(changed)

	result := wait()
	if during >= int64(len(order)) {
		t.Fatal("the load ended before the consumers had left: nothing was tested")
	}
	t.Logf("%d of %d events were sent while consumers joined and left", during, len(order))
	want := result.Oracle(events)
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))
}
