// Package replay sends dead letters again, each once, however often it is interrupted or repeated.
//
// replay.go reads the letters and decides about each. send.go sends them in batches: it writes down in a ledger what it is about to send
// and where, sends it, and writes down what was sent. settle.go finds out, from the topics themselves, what an interrupted run has sent.
// ledger.go is the ledger, a compacted Kafka topic; records.go has its records.
//
// docs/design/replay.md has the argument.
package replay
