package cql

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gocql/gocql"
)

// onlyNode is the context key of the node that a request has to go to.
type onlyNode struct{}

// OnNode returns a context whose requests go to this node only, in a session that Nodes watches.
func OnNode(ctx context.Context, host *gocql.HostInfo) context.Context {
	return context.WithValue(ctx, onlyNode{}, host)
}

// Nodes wraps the driver's host selection policy. It remembers which nodes are up, and sends a request with OnNode to that node. It belongs
// to one session. Safe for concurrent use once Watch has returned.
type Nodes struct {
	gocql.HostSelectionPolicy

	mu sync.Mutex
	up map[string]*gocql.HostInfo // by id
}

// Watch installs n as the cluster's policy. Pass it to Connect as adjust.
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
