// Package eventlog knows the log: the topics that events are counted from, in Kafka, and what is a fact of them.
//
// In the order that an event passes: fetch.go reads a partition, inspect.go finds out whether a message is an event (item.go), duplicates.go
// whether it was there before (ringindex.go remembers ids). deadletter.go writes down what is none. reread.go reads offsets again, for repairs.
//
// Around that: log.go is the topics of a configuration, generations.go those that they went on as, watch.go notices when that changes.
// inherited.go, heirs.go and succession.go are what a generation takes over from the one before it. offsets.go is how far a group is, and
// the mark beside that; tail.go the fingerprint of a message; gap.go what nobody has counted; retention.go what Kafka keeps. version.go is
// the version of what is decided about events. refusals.go has the errors that an operator has to decide about.
//
// The package decides nothing about visitors and writes no counters.
package eventlog
