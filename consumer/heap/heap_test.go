package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestLimit(t *testing.T) {
	const mib = 1 << 20
	for live, want := range map[int64]int64{0: 256, 100: 256, 160: 256, 200: 320, 4000: 6400} {
		if got := limit(live * mib); got != want*mib {
			t.Errorf("%d MiB in use: %d MiB, want %d", live, got/mib, want)
		}
	}
}

// TestTheLimitFollowsTheHeap fills memory and sees the limit rise, and fall when it is free again.
func TestTheLimitFollowsTheHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	Relax()
	kept := make([]byte, 2*roomy)
	await(t, func(limit int64) bool { return limit >= 3*roomy })
	runtime.KeepAlive(kept)
	kept = nil
	await(t, func(limit int64) bool { return limit == roomy })
}

// await collects until the limit is as wanted.
func await(t *testing.T, as func(limit int64) bool) {
	t.Helper()
	for begun := time.Now(); !as(debug.SetMemoryLimit(-1)); time.Sleep(time.Millisecond) { // -1 asks only
		runtime.GC()
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("the limit is %d", debug.SetMemoryLimit(-1))
		}
	}
}
