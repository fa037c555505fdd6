// Package e2e is the end-to-end suite. It starts what operators start, as processes: the door, any number of consumers
// on real Kafka and Cassandra, or the one-process default. It sends events over HTTP and compares every cell of every
// table with an oracle that was written apart from the product.
//
// Its parts are packages of their own: oracle says what must be counted, load makes the events and sends them, process
// runs the binaries, dump reads the tables. Here are the deployments and the tests.
//
// The tests on real servers need `make up`. Without it they are skipped, or fail if CI=true. Each has topics, a consumer
// group and keyspaces of its own and removes them at its end, so nothing else on those servers is touched.
package e2e
