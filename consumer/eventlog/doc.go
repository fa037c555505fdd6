// Package eventlog reads the Kafka topics that events are counted from, and answers what follows from the topics alone.
//
// The path of an event: fetch.go reads a partition (stream.go its messages), inspect.go turns a message into an event or a dead letter (item.go), duplicates.go
// finds repeated ids (ringindex.go remembers them). deadletter.go writes dead letters. reread.go
// reads offsets again, for repairs.
//
// Around that: log.go has the topics of a configuration, generations.go their generations, await.go waits for them, watch.go notices when they change.
// inherited.go, heirs.go and succession.go pass over from one generation to the next. offsets.go reads and commits a group's offsets
// and marks; tail.go makes fingerprints of messages; gap.go finds uncounted offsets; retention.go checks what Kafka keeps. version.go has
// the version by which consumers decide. refusals.go has the errors that only an operator can resolve. retirementwatcher.go reads what
// running consumers are told. groupstate.go asks who is in the group, take.go takes a partition.
//
// The package decides nothing about visitors and writes no counters.
package eventlog
