package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"footfall/deployments/stack"
)

// serverPID finds the process that listens on a port of this machine, 0 if none can be seen: in a container, say.
func serverPID(port int) int {
	sockets := map[string]bool{}
	for _, file := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line) // number, local address, remote address, state, …, inode
			if len(fields) > 9 && strings.HasSuffix(fields[1], fmt.Sprintf(":%04X", port)) && fields[3] == "0A" {
				sockets["socket:["+fields[9]+"]"] = true
			}
		}
	}
	files, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		return 0
	}
	for _, file := range files {
		if target, err := os.Readlink(file); err == nil && sockets[target] {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			return pid
		}
	}
	return 0
}

// startCassandra brings up a node of its own with the commitlog_sync that was asked for, from the jars that `make up` has fetched.
func (b *bench) startCassandra(ctx context.Context) (stop func(), err error) {
	ports, err := stack.FreePorts(2)
	if err != nil {
		return nil, err
	}
	node := &stack.Cassandra{
		Dir: b.dir, Jars: filepath.Join(".stack", "jars"), Port: ports[0], StoragePort: ports[1], CommitlogSync: b.sync, Tether: true,
	}
	if err := node.Start(ctx); err != nil {
		return nil, err
	}
	b.Port = ports[0]
	return func() { _ = node.Kill() }, nil // its files go with the directory
}

// serverCPU is Cassandra's processor time so far, 0 if we cannot see its process.
func (b *bench) serverCPU() float64 {
	cpu, _, err := cost(b.server)
	if b.server == 0 || err != nil {
		return 0
	}
	return cpu
}
