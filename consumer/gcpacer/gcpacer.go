// Package gcpacer tells the garbage collector how seldom it may come.
package gcpacer

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// roomy is what the heap may grow to, whatever is in use.
	roomy = 216 << 20

	// least and most are how much garbage there may be, in percent of what is in use. Much of a full heap is visitors, who stay:
	// as much again would be waste. And a process that has little to do stays small.
	least, most = 40, 400
)

// often is how soon after a collection the rule follows it. A runtime hook would be later: cleanups may run as late as the
// next collection.
const often = 20 * time.Millisecond

// Relax lets the heap grow to 216 MiB before it is collected, but by two fifths at the least and to five times of what is in use at
// the most. The collector's own rule, one percentage, either comes all the time while memory is free or wastes it when it is
// full. The percentage is changed after every collection, for as long as the process lives. Where GOGC is set Relax does nothing;
// GOMEMLIMIT holds in any case. Call it once.
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

// percent is how much garbage may be made beside so many bytes that are in use.
func percent(live uint64) int {
	if live == 0 { // nothing was collected yet
		return most
	}
	return min(max(int(100*roomy/live)-100, least), most)
}
