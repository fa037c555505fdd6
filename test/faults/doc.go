// Package faults tests that counts stay exact under faults. It kills and pauses real Kafka, real Cassandra, producers and consumers,
// and cuts their connections, while clicks and visits come in. Afterwards every cell of every table must equal what an oracle
// computes from the Kafka log.
//
// Package wire times the faults: it watches the connection to Cassandra for a flush. A test whose fault hit nothing fails. The
// controls run the same faults against consumers that lack one safeguard each (package control). The oracle must find their
// counts wrong, which shows that it would see a fault of the product. TestBrokers does the same to Kafka with three brokers.
//
// `go test` runs the short form, about five minutes. All faults take up to 40 minutes:
//
//	go test -count=1 -v -timeout 60m ./test/faults -faults.all -faults.table $PWD/table.md
//
// -run 'TestFaults/zombie' runs one of them, -faults.logs DIR keeps the logs of the processes.
package faults
