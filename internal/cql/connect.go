// Package cql opens sessions to Cassandra, by gocql: address, login, TLS. Consumers and producers share it.
//
// A session has no retry policy: a counter write must never be sent twice, so the caller decides what to do after a failure. Connections to
// a silent node are closed; see silence.go.
package cql

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/internal/retry"
)

const connectTimeout = 5 * time.Second

// Connect opens a session without a keyspace, which reads and writes at LOCAL_QUORUM. It returns when ctx ends, too: the driver waits long for a
// silent node. adjust may change the driver's configuration. Errors of our configuration are *configs.Wrong, and a refused login is final
// (retry.IsFinal). The session is safe for concurrent use, and the caller closes it.
func Connect(ctx context.Context, cfg configs.CassandraClient, adjust ...func(*gocql.ClusterConfig)) (*gocql.Session, error) {
	cluster, err := newCluster(cfg)
	if err != nil {
		return nil, err
	}
	for _, f := range adjust {
		f(cluster)
	}
	why := &reasons{}
	cluster.ConnectObserver = why
	type outcome struct {
		session *gocql.Session
		err     error
	}
	connected := make(chan outcome, 1)
	go func() {
		session, err := cluster.CreateSession()
		connected <- outcome{session, err}
	}()
	select {
	case o := <-connected:
		if o.err == nil {
			return o.session, nil
		}
		err = why.of(o.err)
	case <-ctx.Done():
		go func() {
			if o := <-connected; o.err == nil {
				o.session.Close()
			}
		}()
		err = why.of(ctx.Err())
	}
	if cfg.LocalDC != "" {
		return nil, fmt.Errorf("connecting to the nodes of data centre %s at %s, port %d (cassandra.local_dc, cassandra.hosts,"+
			" cassandra.port): %w", cfg.LocalDC, strings.Join(cfg.Hosts, ", "), cfg.Port, err)
	}
	return nil, fmt.Errorf("connecting to Cassandra at %s, port %d (cassandra.hosts, cassandra.port): %w",
		strings.Join(cfg.Hosts, ", "), cfg.Port, err)
}

// Check returns a *configs.Wrong if nothing can be connected to with this configuration. It does not connect.
func Check(cfg configs.CassandraClient) error {
	_, err := newCluster(cfg)
	return err
}

// reasons remembers why connections failed: the error of a session is a text, and often says less. It implements gocql.ConnectObserver.
type reasons struct {
	mu   sync.Mutex
	last error
}

// ObserveConnect implements gocql.ConnectObserver.
func (r *reasons) ObserveConnect(c gocql.ObservedConnect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c.Err != nil && !errors.Is(c.Err, context.Canceled) && !retry.IsFinal(r.last) { // a node that refuses us says more than one that is down
		r.last = MarkFinal(c.Err)
	}
}

// of is the reason of a failure; err if no connection was even tried.
func (r *reasons) of(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return err
	}
	return r.last
}

// suffix is what cassandra.keyspace_suffix may be.
var suffix = regexp.MustCompile(`^[a-z0-9_]{0,30}$`)

// newCluster makes the driver's configuration from ours. Errors are *configs.Wrong.
func newCluster(cfg configs.CassandraClient) (cluster *gocql.ClusterConfig, err error) {
	defer func() { err = configs.MarkWrong(err) }()
	switch {
	case len(cfg.Hosts) == 0:
		return nil, errors.New("cassandra.hosts is empty")
	case cfg.Timeout <= 0:
		return nil, errors.New("cassandra.timeout must be more than 0")
	case !suffix.MatchString(cfg.KeyspaceSuffix):
		return nil, fmt.Errorf("cassandra.keyspace_suffix is %q: want at most 30 of a-z, 0-9 and _", cfg.KeyspaceSuffix)
	}
	cluster = gocql.NewCluster(cfg.Hosts...)
	cluster.Port = cfg.Port
	cluster.ProtoVersion = 4
	cluster.Consistency = gocql.LocalQuorum
	cluster.Timeout = cfg.Timeout
	cluster.ConnectTimeout = connectTimeout
	cluster.ReconnectInterval = time.Second // with the default, a minute, a restarted node would stay unused that long
	cluster.RetryPolicy = nil
	cluster.Logger = discard{} // every failure is also returned as an error, and logged by the caller
	// Requests go to the token's first replica while it is up. See silence.go for one that hangs.
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	if cfg.LocalDC != "" {
		// A filter, not a preference: in another data centre, LOCAL_QUORUM would be another quorum.
		cluster.HostFilter = gocql.DataCentreHostFilter(cfg.LocalDC)
	}
	switch {
	case cfg.Username != "":
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: cfg.Username, Password: cfg.Password}
	case cfg.Password != "":
		return nil, errors.New("reading cassandra.username: it is empty but cassandra.password is set")
	}
	secure, err := cfg.TLS.Client()
	if err != nil {
		return nil, fmt.Errorf("reading cassandra.tls: %w", err)
	}
	cluster.HostDialer = &dialer{secure}
	return cluster, nil
}

type discard struct{}

func (discard) Print(...any)          {}
func (discard) Printf(string, ...any) {}
func (discard) Println(...any)        {}
