// Package gcpacer makes the garbage collector run less often while the heap is small.
package gcpacer

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// roomy is the size to which the heap may grow before it is collected.
	roomy = 216 << 20

	// least and most bound GOGC: garbage in percent of the live heap. Most of a large heap is the visitor cache, which stays: 100
	// percent would waste as much again. And an idle process stays small.
	least, most = 40, 400
)

// often is how often Relax looks whether there was a collection. A runtime hook would be later: cleanups may run as late as the
// next collection.
const often = 20 * time.Millisecond

// Relax lets the heap grow to 216 MiB before it is collected, but to no less than 1.4 times and no more than 5 times the live heap. One
// fixed GOGC either collects all the time while the heap is small, or wastes memory when it is large. Relax sets GOGC anew after
// every collection, for as long as the process lives. If the environment sets GOGC, Relax does nothing; GOMEMLIMIT holds in any
// case. Call it once.
func Relax() {
	if os.Getenv("GOGC") != "" {
		return
	}
	debug.SetGCPercent(percent(0))
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}} // as the last collection found it
		for before := uint64(0); ; time.Sleep(often) {
			if metrics.Read(live); live[0].Value.Uint64() != before {
				before = live[0].Value.Uint64()
				debug.SetGCPercent(percent(before))
			}
		}
	}()
}

// percent is GOGC for a live heap of so many bytes.
func percent(live uint64) int {
	if live == 0 { // nothing was collected yet
		return most
	}
	return min(max(int(100*roomy/live)-100, least), most)
}
