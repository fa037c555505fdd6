// Package heap tells the garbage collector how seldom it may come.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

const (
	// roomy is the memory that a process may take before it saves any.
	roomy = 256 << 20

	// seldom is how much garbage a small heap may hold, in percent of what is in use: an idle process stays small.
	seldom = 400
)

// Relax lets garbage fill 256 MiB before it is collected, or six tenths of what is in use where that is more: most of a full heap
// is visitors, who stay. The collector's own rule, one percentage, would either come all the time while memory is
// free, or waste it when it is full. The limit is moved after every collection, for as long as the process lives; it only ever
// is too low, where much came into use since. Where GOGC or GOMEMLIMIT is set, that holds and Relax does nothing. Call it once.
func Relax() {
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(seldom)
		adjust(nil)
	}
}

// watch dies in every collection, and its cleanup makes the next one.
type watch struct{ _ *watch }

func adjust(*watch) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetMemoryLimit(limit(int64(live[0].Value.Uint64()))) //nolint:gosec // it fits
	runtime.AddCleanup(&watch{}, adjust, nil)
}

func limit(live int64) int64 { return max(roomy, live*8/5) }
