// Package pause stops counting for a moment, so that a snapshot of all tables is of one state: Cassandra takes a snapshot table by table, and a
// counter that is changed in between no longer fits its ledger.
//
// lease.go keeps leases, by which processes know of each other. watcher.go tells a consumer when to rest: it then releases its partitions
// clean, as if it stopped, but stays in the group. command.go is the work of `consumer pause`: it announces the pause, waits until all are at
// rest, and judges afterwards whether they stayed so.
package pause
