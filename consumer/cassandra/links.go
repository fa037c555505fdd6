package cassandra

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gocql/gocql"

	"footfall/configs"
)

// Links keeps short links in the table urls. It is safe for concurrent use.
type Links struct {
	session        *gocql.Session
	create, target string
}

// OpenLinks connects for links alone, with what a door knows about Cassandra. It returns an error that says what to do
// where there is no such table.
func OpenLinks(ctx context.Context, cfg configs.CassandraClient) (*Links, error) {
	session, err := connectUntil(ctx, cfg)
	if err != nil {
		return nil, err
	}
	urls := newNames(cfg.KeyspaceSuffix).urlshortener + `.urls`
	l := &Links{
		session: session,
		create:  `INSERT INTO ` + urls + ` (short_url, long_url, created_at) VALUES (?, ?, ?) IF NOT EXISTS`,
		target:  `SELECT long_url FROM ` + urls + ` WHERE short_url = ?`,
	}
	if _, _, err := l.Target(ctx, "any"); err != nil {
		session.Close()
		var refused gocql.RequestError
		if errors.As(err, &refused) && refused.Code() == gocql.ErrCodeInvalid {
			return nil, fmt.Errorf("there is no table %s: run `consumer migrate`", urls)
		}
		return nil, err
	}
	return l, nil
}

// connectUntil is connect for those who may be asked to stop meanwhile: the driver takes its time with a node that is silent.
func connectUntil(ctx context.Context, cfg configs.CassandraClient) (*gocql.Session, error) {
	type outcome struct {
		session *gocql.Session
		err     error
	}
	connected := make(chan outcome, 1)
	go func() {
		session, err := connect(cfg)
		connected <- outcome{session, err}
	}()
	select {
	case o := <-connected:
		return o.session, o.err
	case <-ctx.Done():
	}
	go func() {
		if o := <-connected; o.err == nil {
			o.session.Close()
		}
	}()
	return nil, fmt.Errorf("connecting to Cassandra: %w", ctx.Err())
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
