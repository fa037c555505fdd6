package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"footfall/internal/cql"
	"footfall/migrations"
	"footfall/models"
)

// NodeState is what a doctor asks of one node.
type NodeState struct {
	Node
	DataCentre string
	Release    string            // of Cassandra
	Ahead      time.Duration     // of the node's clock before ours, give or take Within
	Within     time.Duration     // half of the time that asking took
	Settings   map[string]string // all of system_views.settings
	MiB        int64             // that our tables take on its disks; -1: it cannot say
	Err        error             // why it was not asked: it is down, or silent
	id         string
}

// Examine asks every node that the cluster has in the data centre of cassandra.local_dc, or in all if that is empty, in the order of their
// addresses. now is our clock.
func (s *Store) Examine(ctx context.Context, localDC string, now func() time.Time) ([]NodeState, error) {
	hosts, err := s.allNodes(ctx)
	if err != nil {
		return nil, err
	}
	hosts = slices.DeleteFunc(hosts, func(n NodeState) bool { return localDC != "" && n.DataCentre != localDC })
	up := map[string]*gocql.HostInfo{}
	for _, h := range s.nodes.Up() {
		up[h.HostID()] = h
	}
	var asking sync.WaitGroup
	for i := range hosts {
		if host := up[hosts[i].id]; host != nil {
			asking.Go(func() { s.examine(ctx, host, &hosts[i], now) })
		} else {
			hosts[i].Err = errors.New("no connection to it can be made")
		}
	}
	asking.Wait()
	return hosts, nil
}

// allNodes lists the cluster's nodes as the first of them that answers knows them.
func (s *Store) allNodes(ctx context.Context) (nodes []NodeState, err error) {
	err = gocql.ErrNoConnections
	for _, host := range s.nodes.Up() {
		if nodes, err = s.knownTo(ctx, host); err == nil {
			slices.SortFunc(nodes, func(a, b NodeState) int { return strings.Compare(a.Address, b.Address) })
			return nodes, nil
		}
	}
	return nil, fmt.Errorf("reading the cluster's nodes: %w", err)
}

// knownTo lists the nodes that a node knows: itself, and its peers.
func (s *Store) knownTo(ctx context.Context, host *gocql.HostInfo) (nodes []NodeState, err error) {
	for _, of := range []string{"broadcast_address, host_id, data_center, release_version FROM system.local", "peer, host_id, data_center, release_version FROM system.peers"} {
		var n NodeState
		var id gocql.UUID
		err := cql.Each(s.onNode(ctx, host, `SELECT `+of), func() error {
			n.id = id.String()
			nodes = append(nodes, n)
			return nil
		}, &n.Address, &id, &n.DataCentre, &n.Release)
		if err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// examine asks one node. What it cannot say stays empty.
func (s *Store) examine(ctx context.Context, host *gocql.HostInfo, state *NodeState, now func() time.Time) {
	var theirs time.Time
	const clock = `SELECT toTimestamp(now()) FROM system.local`
	asked, ours := time.Now(), now()
	if state.Err = s.onNode(ctx, host, clock).Scan(&theirs); state.Err != nil {
		return
	}
	state.Within = time.Since(asked) / 2
	state.Ahead = theirs.Sub(ours.Add(state.Within))
	if state.Settings, state.Err = s.settingsOf(ctx, host, ""); state.Err != nil {
		return
	}
	state.Node = nodeOf(host, state.Settings)
	state.MiB = s.diskUse(ctx, host)
}

// diskUse is how much our tables take on a node's disks; -1 if it cannot say, as before Cassandra 4.0.
func (s *Store) diskUse(ctx context.Context, host *gocql.HostInfo) (sum int64) {
	for _, keyspace := range s.names.All() {
		var one int64
		query := s.onNode(ctx, host, `SELECT mebibytes FROM system_views.disk_usage WHERE keyspace_name = ? ALLOW FILTERING`, keyspace)
		if cql.Each(query, func() error { sum += one; return nil }, &one) != nil {
			return -1
		}
	}
	return sum
}

func (s *Store) onNode(ctx context.Context, host *gocql.HostInfo, statement string, args ...any) *gocql.Query {
	return s.session.Query(statement, args...).Consistency(gocql.One).WithContext(cql.OnNode(ctx, host))
}

// CheckDataCentres returns an error that says what to do if the cluster has several data centres and localDC is empty.
func (s *Store) CheckDataCentres(ctx context.Context, localDC string) error {
	return cql.CheckDataCentres(ctx, s.session, localDC)
}

// Replication reads the replication of the keyspaces. It returns an error that says what to do if another one is recorded. It records nothing.
func (s *Store) Replication(ctx context.Context) (cql.Replication, error) {
	now, err := cql.ReadReplication(ctx, s.session, s.names)
	if err != nil {
		return nil, err
	}
	recorded, err := migrations.Setting(ctx, s.session, s.names, replicationSetting)
	if err != nil || recorded == "" || recorded == now.String() {
		return now, err
	}
	return now, s.otherReplication(now, recorded)
}

// BotClicks reads how many bots' clicks on a link are counted.
func (s *Store) BotClicks(ctx context.Context, link string) (n int64, err error) {
	err = s.read(ctx, "the bots' clicks on "+link, &n, s.cql.counter[models.BotCounter].read, link)
	return n, err
}

// TakeLink takes a canary's link for a holder, for ttl at the most. False without error: another holder has it. If the outcome is unknown, the
// link is free again after ttl. The rows have a partition of their own in leases: there, nobody else asks.
func (s *Store) TakeLink(ctx context.Context, link, holder string, ttl time.Duration) (bool, error) {
	return s.cas(ctx, "taking link "+link+" for a canary", `INSERT INTO `+s.names.Footfall+`.leases (name, kind, id, what) VALUES ('doctors', 'canary', ?, ?)`+
		` IF NOT EXISTS USING TTL ?`, link, holder, int(ttl.Seconds()))
}

// ReturnLink gives a link back, if the holder still has it.
func (s *Store) ReturnLink(ctx context.Context, link, holder string) error {
	_, err := s.cas(ctx, "giving back link "+link, `DELETE FROM `+s.names.Footfall+`.leases WHERE name = 'doctors' AND kind = 'canary' AND id = ? IF what = ?`,
		link, holder)
	return err
}

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
		settings, err := s.settingsOf(ctx, hosts[i], ` WHERE name IN ('`+syncSetting+`', '`+counterTimeout+`', '`+writeTimeout+`')`)
		found[i], failed[i] = nodeOf(hosts[i], settings), err
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

// settingsOf reads settings of one node by name.
func (s *Store) settingsOf(ctx context.Context, host *gocql.HostInfo, where string) (map[string]string, error) {
	values := map[string]string{}
	var name, value string
	query := s.onNode(ctx, host, `SELECT name, value FROM system_views.settings`+where)
	if err := cql.Each(query, func() error { values[name] = value; return nil }, &name, &value); err != nil {
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
