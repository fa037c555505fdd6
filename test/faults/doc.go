// Package faults proves the promise of exact counts where it is hard to keep: real Kafka and real Cassandra, which are
// killed and paused, real doors and consumers, which are killed, paused and cut off, and a load of clicks and visits that
// goes on meanwhile. Afterwards every cell of every table must equal what an oracle makes of the Kafka log itself.
//
// A fault is timed by package wire, which sees on the connection to Cassandra that a flush is under way; a test whose fault
// hit nothing fails. The controls run the same faults against consumers that lack one safeguard each (package control) and
// must be found wrong by the same oracle, so that we know it can see.
//
// Plain `go test` runs the short form, about five minutes. The whole takes up to half an hour:
//
//	go test -count=1 -v -timeout 40m ./test/faults -faults.all -faults.table table.md
//
// -run 'TestFaults/zombie' runs one of them, -faults.logs DIR keeps what the processes print.
package faults
