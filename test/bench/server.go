package main

import (
	"context"
	"path/filepath"

	"footfall/deployments/stack"
	"footfall/test/bench/machine"
)

// startCassandra brings up a node of its own with the commitlog_sync that was asked for, from the jars that `make up` has fetched.
func (b *bench) startCassandra(ctx context.Context) (stop func(), err error) {
	ports, err := stack.FreePorts(2)
	if err != nil {
		return nil, err
	}
	node := &stack.Cassandra{
		Dir: b.Dir, Jars: filepath.Join(".stack", "jars"), Port: ports[0], StoragePort: ports[1], CommitlogSync: b.sync, Tether: true,
	}
	if err := node.Start(ctx); err != nil {
		return nil, err
	}
	b.Port = ports[0]
	return func() { _ = node.Kill() }, nil // its files go with the directory
}

// serverCPU is Cassandra's processor time so far, 0 if we cannot see its process.
func (b *bench) serverCPU() float64 {
	cpu, _, err := machine.Cost(b.server)
	if b.server == 0 || err != nil {
		return 0
	}
	return cpu
}
