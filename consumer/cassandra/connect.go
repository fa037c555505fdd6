package cassandra

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
)

// connect opens a session without a keyspace.
func connect(cfg configs.CassandraClient) (*gocql.Session, error) {
	cluster, err := newCluster(cfg)
	if err != nil {
		return nil, err
	}
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, fmt.Errorf("connecting to Cassandra at %s, port %d (cassandra.hosts, cassandra.port): %w",
			strings.Join(cfg.Hosts, ", "), cfg.Port, err)
	}
	return session, nil
}

// newCluster says how to speak to Cassandra: as whom, and whether encrypted.
func newCluster(cfg configs.CassandraClient) (*gocql.ClusterConfig, error) {
	cluster := gocql.NewCluster(cfg.Hosts...)
	cluster.Port = cfg.Port
	cluster.ProtoVersion = 4
	cluster.Consistency = gocql.LocalQuorum
	cluster.Timeout = cfg.Timeout
	cluster.ConnectTimeout = 5 * time.Second
	cluster.ReconnectInterval = time.Second // the default is a minute: a restarted node would stay unused for as long
	cluster.RetryPolicy = nil
	cluster.Logger = discard{} // every failure reaches us as an error and is told once, there
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
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
	if secure != nil {
		cluster.SslOpts = &gocql.SslOptions{Config: secure, EnableHostVerification: !secure.InsecureSkipVerify}
	}
	return cluster, nil
}

type discard struct{}

func (discard) Print(...any)          {}
func (discard) Printf(string, ...any) {}
func (discard) Println(...any)        {}
