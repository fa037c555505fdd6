// Package cassandra keeps short links in the table urls, beside the counters that consumers write.
package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
	"footfall/internal/cql"
)

// Links implements links.Store. Safe for concurrent use.
type Links struct {
	session        *gocql.Session
	create, target string
}

// Check returns a *configs.Wrong if nothing can be opened with this configuration. It does not connect.
func Check(cfg configs.CassandraClient) error { return cql.Check(cfg) }

// Open connects, with the producer's configuration of Cassandra. It returns an error that says what to do
// where there is no such table. Errors that waiting cannot mend are final (retry.IsFinal).
func Open(ctx context.Context, cfg configs.CassandraClient) (*Links, error) {
	session, err := cql.Connect(ctx, cfg)
	if err != nil {
		return nil, err
	}
	urls := cql.KeyspacesOf(cfg.KeyspaceSuffix).URLShortener + `.urls`
	l := &Links{
		session: session,
		create:  `INSERT INTO ` + urls + ` (short_url, long_url, created_at) VALUES (?, ?, ?) IF NOT EXISTS`,
		target:  `SELECT long_url FROM ` + urls + ` WHERE short_url = ?`,
	}
	if _, _, err := l.Target(ctx, "any"); err != nil {
		session.Close()
		if cql.NoTable(err) {
			return nil, fmt.Errorf("there is no table %s: run `consumer migrate`", urls)
		}
		return nil, cql.MarkFinal(err)
	}
	return l, nil
}

// Close ends the session. Requests under way fail.
func (l *Links) Close() { l.session.Close() }

// Create implements links.Store by lightweight transaction. After an error the link may be there.
func (l *Links) Create(ctx context.Context, short, long string, at time.Time) (existing string, created bool, err error) {
	row := map[string]any{}
	created, err = l.session.Query(l.create, short, long, at).WithContext(ctx).MapScanCAS(row)
	if err != nil {
		return "", false, fmt.Errorf("creating link %s: %w", short, err)
	}
	if !created {
		existing, _ = row["long_url"].(string) // a row by hand may have none
	}
	return existing, created, nil
}

// Target implements links.Store.
func (l *Links) Target(ctx context.Context, short string) (long string, found bool, err error) {
	err = l.session.Query(l.target, short).WithContext(ctx).Scan(&long)
	if errors.Is(err, gocql.ErrNotFound) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("reading link %s: %w", short, err)
	}
	return long, true, nil
}
