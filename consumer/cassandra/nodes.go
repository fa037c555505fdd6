package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gocql/gocql"
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
	hosts := s.nodes.list()
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
		Consistency(gocql.One).WithContext(context.WithValue(ctx, onlyNode{}, host)).Iter().Scanner()
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

// onlyNode is the context's key for the node that a request goes to, whoever holds the data.
type onlyNode struct{}

// nodes is the driver's policy, but that it remembers which nodes are up, and lets a request go to one of them.
type nodes struct {
	gocql.HostSelectionPolicy

	mu sync.Mutex
	up map[string]*gocql.HostInfo // by id
}

// watchNodes puts itself between the driver and its policy.
func (n *nodes) watchNodes(cluster *gocql.ClusterConfig) {
	n.up = map[string]*gocql.HostInfo{}
	n.HostSelectionPolicy = cluster.PoolConfig.HostSelectionPolicy
	cluster.PoolConfig.HostSelectionPolicy = n
}

func (n *nodes) list() []*gocql.HostInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.up))
}

func (n *nodes) set(host *gocql.HostInfo, up bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if up {
		n.up[host.HostID()] = host
	} else {
		delete(n.up, host.HostID())
	}
}

// AddHost implements gocql.HostSelectionPolicy.
func (n *nodes) AddHost(host *gocql.HostInfo) {
	n.set(host, true)
	n.HostSelectionPolicy.AddHost(host)
}

// RemoveHost implements gocql.HostSelectionPolicy.
func (n *nodes) RemoveHost(host *gocql.HostInfo) {
	n.set(host, false)
	n.HostSelectionPolicy.RemoveHost(host)
}

// HostUp implements gocql.HostSelectionPolicy.
func (n *nodes) HostUp(host *gocql.HostInfo) {
	n.set(host, true)
	n.HostSelectionPolicy.HostUp(host)
}

// HostDown implements gocql.HostSelectionPolicy.
func (n *nodes) HostDown(host *gocql.HostInfo) {
	n.set(host, false)
	n.HostSelectionPolicy.HostDown(host)
}

// Pick implements gocql.HostSelectionPolicy.
func (n *nodes) Pick(query gocql.ExecutableQuery) gocql.NextHost {
	if query == nil {
		return n.HostSelectionPolicy.Pick(nil)
	}
	host, one := query.Context().Value(onlyNode{}).(*gocql.HostInfo)
	if !one {
		return n.HostSelectionPolicy.Pick(query)
	}
	return func() gocql.SelectedHost {
		if host == nil {
			return nil
		}
		selected := &thisNode{host}
		host = nil
		return selected
	}
}

// thisNode implements gocql.SelectedHost.
type thisNode struct{ host *gocql.HostInfo }

func (t *thisNode) Info() *gocql.HostInfo { return t.host }

func (t *thisNode) Mark(error) {}
