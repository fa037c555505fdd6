package main

import (
	"context"

	"footfall/deployments/stack"
)

// managed is what the two servers of package stack have in common.
type managed interface {
	Fetch(context.Context) error
	Start(context.Context) error
	Stop(context.Context) error
	Wipe() error
	PID() (int, error)
	Log() string
	Addr() string
}

// server is one of the two servers. ask tells whether it answers, whoever started it: the launcher, compose, or somebody else.
type server struct {
	managed
	name string
	ask  func(context.Context) error
}

// newServers returns Kafka and Cassandra on their default ports.
func newServers(dir string, say func(string, ...any)) []server {
	kafka := &stack.Kafka{Dir: dir, Logf: say}
	cassandra := &stack.Cassandra{Dir: dir, Logf: say}
	return []server{
		{kafka, "kafka", func(ctx context.Context) error { return stack.AskKafka(ctx, kafka.Addr()) }},
		{cassandra, "cassandra", func(ctx context.Context) error {
			return stack.AskCassandra(ctx, "127.0.0.1", 9042)
		}},
	}
}
