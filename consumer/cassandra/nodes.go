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

// Node is what one node of the cluster says about itself.
type Node struct {
	Address       string
	CommitlogSync string        // only with group or batch are acknowledged writes safe when the node crashes
	WriteTimeout  time.Duration // the longer of its two
}

// Nodes asks every node that is up, in the data centre of cassandra.local_dc. One that does not answer is left out; an error says
// that none did. From then on WriteTimeout is the longest that any of them has said.
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

// askNode reads the settings of one node: each has its own.
func (s *Store) askNode(ctx context.Context, host *gocql.HostInfo) (Node, error) {
	const (
		sync, counters, others = "commitlog_sync", "counter_write_request_timeout", "write_request_timeout"

		unknown = 5 * time.Second // the server's default, in case it does not tell
	)
	values := map[string]string{}
	scanner := s.session.Query(`SELECT name, value FROM system_views.settings WHERE name IN ('` + sync + `', '` + counters + `', '` + others + `')`).
		Consistency(gocql.One).WithContext(cql.OnNode(ctx, host)).Iter().Scanner()
	for scanner.Next() {
		var name, value string
		if err := scanner.Scan(&name, &value); err != nil {
			return Node{}, err
		}
		values[name] = value
	}
	if err := scanner.Err(); err != nil {
		return Node{}, fmt.Errorf("asking node %s: %w", host.ConnectAddress(), err)
	}
	node := Node{Address: host.ConnectAddress().String(), CommitlogSync: values[sync]}
	for _, name := range []string{counters, others} {
		d, err := time.ParseDuration(values[name])
		if err != nil {
			d = unknown
		}
		node.WriteTimeout = max(node.WriteTimeout, d)
	}
	return node, nil
}
