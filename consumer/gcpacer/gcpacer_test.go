package gcpacer

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercent(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[uint64]int{0: 400, 1: 400, 43: 400, 54: 300, 108: 100, 154: 40, 216: 40, 4000: 40} {
		if got := percent(live * mib); got != want {
			t.Errorf("%d MiB in use: %d percent, want %d", live, got, want)
		}
	}
}

// When the heap grows, GOGC falls; when it shrinks, GOGC rises again.
func TestGOGCFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "77")
	before := rule()
	Relax()
	if rule() != before {
		t.Errorf("%d percent where GOGC is set, want %d as it was", rule(), before)
	}
	t.Setenv("GOGC", "")
	Relax()
	if rule() != most {
		t.Errorf("%d percent of a small heap, want %d", rule(), most)
	}
	kept := make([]byte, 2*roomy)
	await(t, least)
	runtime.KeepAlive(kept) // and no longer
	await(t, most)
}

// await collects garbage until GOGC is as wanted.
func await(t *testing.T, want int) {
	t.Helper()
	for begun := time.Now(); rule() != want; time.Sleep(time.Millisecond) {
		runtime.GC()
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%d percent, want %d", rule(), want)
		}
	}
}

// rule is the current GOGC.
func rule() int {
	now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(now)
	return int(now[0].Value.Uint64())
}
