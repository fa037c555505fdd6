package cql

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gocql/gocql"
)

// onlyNode is the context's key for the node that a request goes to, whoever holds the data.
type onlyNode struct{}

// OnNode returns a context whose requests go to this node only, in a session that Nodes watches.
func OnNode(ctx context.Context, host *gocql.HostInfo) context.Context {
	return context.WithValue(ctx, onlyNode{}, host)
}

// Nodes is the driver's policy, but that it remembers which nodes are up, and lets a request go to one of them. It belongs to one
// session. Safe for concurrent use once Watch has returned.
type Nodes struct {
	gocql.HostSelectionPolicy

	mu sync.Mutex
	up map[string]*gocql.HostInfo // by id
}

// Watch puts itself between the driver and its policy: an adjustment for Connect.
func (n *Nodes) Watch(cluster *gocql.ClusterConfig) {
	n.up = map[string]*gocql.HostInfo{}
	n.HostSelectionPolicy = cluster.PoolConfig.HostSelectionPolicy
	cluster.PoolConfig.HostSelectionPolicy = n
}

// Up returns the nodes that are up.
func (n *Nodes) Up() []*gocql.HostInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.up))
}

func (n *Nodes) set(host *gocql.HostInfo, up bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if up {
		n.up[host.HostID()] = host
	} else {
		delete(n.up, host.HostID())
	}
}

// AddHost implements gocql.HostSelectionPolicy.
func (n *Nodes) AddHost(host *gocql.HostInfo) {
	n.set(host, true)
	n.HostSelectionPolicy.AddHost(host)
}

// RemoveHost implements gocql.HostSelectionPolicy.
func (n *Nodes) RemoveHost(host *gocql.HostInfo) {
	n.set(host, false)
	n.HostSelectionPolicy.RemoveHost(host)
}

// HostUp implements gocql.HostSelectionPolicy.
func (n *Nodes) HostUp(host *gocql.HostInfo) {
	n.set(host, true)
	n.HostSelectionPolicy.HostUp(host)
}

// HostDown implements gocql.HostSelectionPolicy.
func (n *Nodes) HostDown(host *gocql.HostInfo) {
	n.set(host, false)
	n.HostSelectionPolicy.HostDown(host)
}

// Pick implements gocql.HostSelectionPolicy.
func (n *Nodes) Pick(query gocql.ExecutableQuery) gocql.NextHost {
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
