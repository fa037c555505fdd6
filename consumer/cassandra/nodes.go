package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
)

// Node has settings of one node of the cluster.
type Node struct {
	Address       string
	CommitlogSync string        // with "group" or "batch" acknowledged writes survive a crash of the node
	WriteTimeout  time.Duration // the longer of those for counters and for other writes
}

// Nodes reads the settings of every node that is up, in the data centre of cassandra.local_dc. It leaves out nodes that do not answer, and
// returns an error if none does. It raises WriteTimeout to the longest that any of them has.
func (s *Store) Nodes(ctx context.Context) ([]Node, error) {
	hosts := s.nodes.Up()
	found := make([]Node, len(hosts))
	failed := make([]error, len(hosts))
	err := s.each(ctx, len(hosts), func(ctx context.Context, i int) error {
		found[i], failed[i] = s.askNode(ctx, hosts[i])
		return nil
	})
	if err != nil {
		return nil, err
	}
	var nodes []Node
	for i, node := range found {
		if failed[i] != nil {
			continue
		}
		nodes = append(nodes, node)
		for longest := s.writeTimeout.Load(); int64(node.WriteTimeout) > longest; longest = s.writeTimeout.Load() {
			s.writeTimeout.CompareAndSwap(longest, int64(node.WriteTimeout))
		}
	}
	if len(nodes) == 0 {
		return nil, fmt.Errorf("reading Cassandra's settings: %w", cmp.Or(errors.Join(failed...), gocql.ErrNoConnections))
	}
	return nodes, nil
}

// The settings of a node that decide about counting.
const syncSetting, counterTimeout, writeTimeout = "commitlog_sync", "counter_write_request_timeout", "write_request_timeout"

// Durable tells whether acknowledged writes survive a crash of the node.
func (n Node) Durable() bool { return n.CommitlogSync == "group" || n.CommitlogSync == "batch" }

// askNode reads the settings of one node.
func (s *Store) askNode(ctx context.Context, host *gocql.HostInfo) (Node, error) {
	values, err := s.settingsOf(ctx, host, ` WHERE name IN ('`+syncSetting+`', '`+counterTimeout+`', '`+writeTimeout+`')`)
	return nodeOf(host, values), err
}

// settingsOf reads settings of one node by name.
func (s *Store) settingsOf(ctx context.Context, host *gocql.HostInfo, where string) (map[string]string, error) {
	values := map[string]string{}
	var name, value string
	if err := cql.Each(s.onNode(ctx, host, `SELECT name, value FROM system_views.settings`+where), func() error { values[name] = value; return nil }, &name, &value); err != nil {
		return nil, fmt.Errorf("asking node %s: %w", host.ConnectAddress(), err)
	}
	return values, nil
}

func nodeOf(host *gocql.HostInfo, values map[string]string) Node {
	const unknown = 5 * time.Second // assumed if the node does not say: longer than the server's defaults
	node := Node{Address: host.ConnectAddress().String(), CommitlogSync: values[syncSetting]}
	for _, name := range []string{counterTimeout, writeTimeout} {
		d, err := time.ParseDuration(values[name])
		if err != nil {
			d = unknown
		}
		node.WriteTimeout = max(node.WriteTimeout, d)
	}
	return node
}
