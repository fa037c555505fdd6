package e2e

import (
	"sync/atomic"
	"testing"
	"time"

	"footfall/test/e2e/load"
)

// Replicas come and go while events flow: one, then three, then one. Whoever holds a partition when, nothing is lost and
// nothing counted twice.
func TestReplicasComeAndGo(t *testing.T) {
	d := newReal(t, 1)
	const n = 50_000
	events, order := load.Make(3, n), load.Order(3, n)

	// The load goes gently until the changes are over, and hardly at all if they take so long that it would be over before
	// them; then it goes as fast as it can.
	changed := make(chan struct{})
	var sent atomic.Int64
	client := &load.Client{URL: d.door(), Pace: func(int) {
		wait := 40 * time.Millisecond
		if sent.Add(1) > n*2/3 {
			wait *= 10
		}
		select {
		case <-changed:
		case <-time.After(wait):
		}
	}}
	type outcome struct {
		result *load.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		result, err := client.Send(t.Context(), events, order)
		done <- outcome{result, err}
	}()

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

	end := <-done
	if end.err != nil {
		t.Fatal(end.err)
	}
	if during >= int64(len(order)) {
		t.Fatal("the load was over before the replicas had gone: nothing was tested")
	}
	t.Logf("%d of %d events were sent while replicas came and went", during, len(order))
	want := end.result.Oracle(events)
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))
}
