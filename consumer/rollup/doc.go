// Package rollup turns the events of Kafka partitions into counters, exactly once each. It is the hot path; what is known of the log is in
// eventlog, repairs are in repair, commands in maintenance, and what is asked of a database in store.
//
// In the order of the data: group.go joins the group, and generation.go runs one generation of it. begin.go takes the partitions
// (ownership.go, agree.go) and finds the offset to go on at in each (start.go, logidentity.go, claim.go). chunk.go collects what the
// fetchers read, in little memory (the package packed). prepare.go decides and sums it, one chunk
// ahead: the package sight finds each visitor's first event, deltas.go sums (the package sums), and the package names lists the names of the keys. flush.go writes it: ledger.go knows what a key holds already
// (the package positioncache), recover.go what to do when a write fails, leave.go when the group waits for this member. count.go is the loop over chunks, and commits.
//
// Around that: owned.go is one partition's state, takerelease.go and progress.go note it in the store, ends.go sees where a sealed topic
// ends. The package latest keeps the latest clicks, file.go counts a file, lag.go and the package meter tell operators, lag.go also those who read counts, checkconfig.go refuses configurations. memory.go divides the memory limit.
package rollup
