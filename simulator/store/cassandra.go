package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/simulator/tables"
)

type cassandra struct {
	session *gocql.Session
	where   string
	suffix  string
}

// OpenCassandra connects as consumers do.
func OpenCassandra(cfg configs.CassandraClient) (Store, error) {
	if len(cfg.Hosts) == 0 {
		return nil, errors.New("cassandra.hosts is empty")
	}
	where := fmt.Sprintf("Cassandra at %s, port %d", strings.Join(cfg.Hosts, ", "), cfg.Port)
	cluster := gocql.NewCluster(cfg.Hosts...)
	cluster.Port, cluster.ProtoVersion, cluster.Timeout = cfg.Port, 4, cfg.Timeout
	cluster.ConnectTimeout = 5 * time.Second
	cluster.Consistency = gocql.LocalQuorum
	cluster.Logger = silent{} // failures are returned as errors
	if cfg.LocalDC != "" {
		cluster.HostFilter = gocql.DataCentreHostFilter(cfg.LocalDC)
	}
	if cfg.Username != "" {
		cluster.Authenticator = gocql.PasswordAuthenticator{Username: cfg.Username, Password: cfg.Password}
	}
	secure, err := cfg.TLS.Client()
	if err != nil {
		return nil, fmt.Errorf("reading cassandra.tls: %w", err)
	}
	if secure != nil {
		cluster.SslOpts = &gocql.SslOptions{Config: secure, EnableHostVerification: !cfg.TLS.Insecure}
	}
	session, err := cluster.CreateSession()
	if err != nil {
		return nil, fmt.Errorf("connecting to %s (FOOTFALL_CASSANDRA_HOSTS, FOOTFALL_CASSANDRA_PORT): %w", where, err)
	}
	return &cassandra{session, where, cfg.KeyspaceSuffix}, nil
}

func (c *cassandra) String() string { return c.where }

func (c *cassandra) Close() error {
	c.session.Close()
	return nil
}

// Behind implements Store. It reads one partition.
func (c *cassandra) Behind(ctx context.Context, counter Counter, want int64) (bool, error) {
	keyspace, table, _ := strings.Cut(counter.Table, ".")
	query := fmt.Sprintf("SELECT %s FROM %s%s.%s WHERE %s = ?", counter.Column, keyspace, c.suffix, table, strings.Join(counter.Columns, " = ? AND "))
	var value int64
	err := c.session.Query(query, counter.Key...).WithContext(ctx).Scan(&value)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return false, fmt.Errorf("reading %s: %w", counter.Table, err)
	}
	return value < want, nil
}

// Read implements Store. It scans the tables of sites with ALLOW FILTERING, since rows that should not be there may be in any partition.
func (c *cassandra) Read(ctx context.Context, s Scope) (tables.Cells, error) {
	cells := tables.Cells{}
	err := s.each(func(t table, name string) error {
		filtering := ""
		if t.keyspace == "cardinality" {
			filtering = " ALLOW FILTERING"
		}
		scanner := c.session.Query(t.query(c.suffix, filtering), name).WithContext(ctx).PageSize(5000).Iter().Scanner()
		for scanner.Next() {
			into, counter := make([]any, len(t.key)), int64(0)
			for i, column := range t.key {
				if into[i] = new(string); isTime(column) {
					into[i] = new(time.Time)
				}
			}
			columns := into
			if t.counter != "" {
				columns = append(append([]any{}, into...), &counter)
			}
			if err := scanner.Scan(columns...); err != nil {
				return err
			}
			for i := range into {
				switch v := into[i].(type) {
				case *string:
					into[i] = *v
				case *time.Time:
					into[i] = *v
				}
			}
			if err := t.add(cells, into, counter); err != nil {
				return err
			}
		}
		return scanner.Err()
	})
	if err == nil {
		err = c.addVisitors(ctx, s.Site, cells)
	}
	return cells, err
}

func (c *cassandra) addVisitors(ctx context.Context, site string, cells tables.Cells) error {
	scanner := c.session.Query(visitors("cardinality"+c.suffix)+" ALLOW FILTERING", site).WithContext(ctx).PageSize(5000).Iter().Scanner()
	for scanner.Next() {
		var bucket, guid string
		var seen []string
		if err := scanner.Scan(&bucket, &guid, &seen); err != nil {
			return fmt.Errorf("reading visitors: %w", err)
		}
		if err := cells.AddSeen(site, bucket, guid, seen); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("reading visitors: %w", err)
	}
	return nil
}

type silent struct{}

func (silent) Print(...any)          {}
func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}
