// Package stack runs real Kafka and real Cassandra without containers: it
// fetches their jars from Maven, writes their configuration, starts them as
// detached processes and waits until they answer.
//
// Both the command deployments/stackctl and the tests use it. Everything a
// server needs and leaves behind lies under its Dir:
//
//	jars/kafka-4.3.1/          the class path (shareable, see the Jars fields)
//	kafka/, cassandra/         configuration and data
//	kafka.log, cassandra.log   the servers' output
//	kafka.pid, cassandra.pid   their process ids
//
// All state is in these files, none in the Go values: another process that makes an equal value can stop what the first one started, and a
// restart with the same Dir keeps the data.
package stack
