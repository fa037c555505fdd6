// Package rollup turns the events of Kafka partitions into counters, exactly once each.
//
// The files follow the data: group.go gets partitions, fetch.go reads them, duplicates.go drops what was sent twice,
// chunk.go collects, sight.go finds each visitor's first event, deltas.go sums, ledger.go knows what a key already holds,
// flush.go puts it together and commits. store.go is what is asked of a database.
package rollup
