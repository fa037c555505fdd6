// Package e2e is the end-to-end suite. It starts the binaries as processes: the producer and consumers on real Kafka and Cassandra, or
// embedded. It sends events over HTTP and compares every cell of every table with an oracle that shares no counting code
// with the product.
//
// Package oracle computes what must be counted, load makes events and sends them, process runs the binaries, dump reads the tables,
// broker reads and writes Kafka. The deployments and the tests are here.
//
// The tests on real servers need `make up`. Without it they are skipped, or fail with CI=true. Each has its own topics, consumer group
// and keyspaces and removes them at its end. So tests that mostly wait, and do not measure time or load, run beside each other
// (t.Parallel); the others run alone, before them.
package e2e
