package cassandra

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/uuid"

	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/models"
)

// Forgotten is what Forget removed.
type Forgotten struct {
	Guids, IPs, Clicks int64 // rows of GuidData, uniquecounterips, latestclicks
	Looked             int   // partitions that were read
}

// Forget removes the rows of visitors: by guid on all sites, and by IP, as stored, on all links. Counts stay. Then it notifies consumers, so
// that they clear their visitor caches. After an error some rows are removed, and it may be called again. It calls progress now and then,
// from one goroutine.
func (s *Store) Forget(ctx context.Context, guids, ips []string, progress func(Forgotten)) (Forgotten, error) {
	f := &forgetting{Store: s, progress: progress}
	var err error
	if len(guids) > 0 {
		err = f.onSites(ctx, guids)
	}
	if err == nil && len(ips) > 0 {
		err = f.onLinks(ctx, ips)
	}
	if err == nil && len(ips) > 0 {
		err = f.amongLatest(ctx, ips)
	}
	if err == nil { // after the rows: a consumer notified earlier could read and cache a row before it is removed
		err = s.tellForgotten(ctx)
	}
	if err != nil {
		return f.total(), fmt.Errorf("forgetting visitors: %w", err)
	}
	return f.total(), nil
}

// tellForgotten changes the version that consumers read. Its write timestamp is later than the last one's, even if that clock was ahead.
func (s *Store) tellForgotten(ctx context.Context) error {
	table := s.names.Footfall + `.forgotten`
	var last int64
	err := cql.One(s.session.Query(`SELECT WRITETIME(version) FROM `+table+` WHERE name = 'visitors'`).WithContext(ctx), &last)
	if err != nil {
		return err
	}
	at := max(time.Now().UnixMicro(), last+1)
	return s.session.Query(`INSERT INTO `+table+` (name, version) VALUES ('visitors', ?) USING TIMESTAMP ?`, uuid.NewString(), at).
		WithContext(ctx).Exec()
}

// forgetting is the state of one Forget.
type forgetting struct {
	*Store
	progress           func(Forgotten)
	guids, ips, clicks atomic.Int64
	looked             int
}

func (f *forgetting) total() Forgotten {
	return Forgotten{f.guids.Load(), f.ips.Load(), f.clicks.Load(), f.looked}
}

// together calls do for everything that read hands on, many concurrently.
func together[T any](ctx context.Context, f *forgetting, read func(each func(T) error) error, do func(context.Context, T) error) error {
	var gathered []T
	work := func() error {
		err := f.each(ctx, len(gathered), func(ctx context.Context, i int) error { return do(ctx, gathered[i]) })
		f.looked += len(gathered)
		gathered = gathered[:0]
		f.progress(f.total())
		return err
	}
	err := read(func(one T) error {
		if gathered = append(gathered, one); len(gathered) < dropAtOnce {
			return nil
		}
		return work()
	})
	if err != nil {
		return err
	}
	return work()
}

// onSites removes guids from all partitions of their buckets.
func (f *forgetting) onSites(ctx context.Context, guids []string) error {
	byBucket := map[string][]string{}
	for _, guid := range guids {
		byBucket[models.Bucket(guid)] = append(byBucket[models.Bucket(guid)], guid)
	}
	read := func(each func(visitorPartition) error) error {
		return f.eachPartition(ctx, ring, func(p visitorPartition) error {
			if byBucket[p.Bucket] == nil {
				return nil
			}
			return each(p)
		})
	}
	table, where := f.visitors()
	return together(ctx, f, read, func(ctx context.Context, p visitorPartition) error {
		for _, guid := range byBucket[p.Bucket] {
			rows, err := f.remove(ctx, table, guidData.Values, where+` AND guid = ?`, append(p.Args(), guid)...)
			if err != nil {
				return err
			}
			f.guids.Add(rows)
		}
		return nil
	})
}

// onLinks removes IPs from the partition of every link.
func (f *forgetting) onLinks(ctx context.Context, ips []string) error {
	visitors := models.TableOf(models.URLShortener, models.LinkVisitors)
	table := f.schema.Name(visitors)
	read := func(each func(string) error) error {
		var link string
		return cql.Each(f.session.Query(`SELECT DISTINCT short_url FROM `+table).WithContext(ctx).PageSize(1000), func() error { return each(link) }, &link)
	}
	return together(ctx, f, read, func(ctx context.Context, link string) error {
		// One read for all IPs, since few are on any link.
		here, err := cql.All(f.session.Query(`SELECT ip FROM `+table+` WHERE short_url = ? AND ip IN ?`, link, ips).WithContext(ctx), tables.Column[string])
		if err != nil {
			return err
		}
		for _, ip := range here {
			rows, err := f.remove(ctx, table, visitors.Values, ` WHERE short_url = ? AND ip = ?`, link, ip)
			if err != nil {
				return err
			}
			f.ips.Add(rows)
		}
		return nil
	})
}

// removeAttempts is how often remove deletes rows that reappear: a consumer may be writing the same visitor.
const removeAttempts = 5

// remove removes the rows of one visitor and returns how many there were. columns are those that are written with a row. The tombstone has the
// rows' own write timestamp. With the present time of a clock that is ahead, it would also hide rows written later, and each later event would
// count as a new visitor. With a clock that is behind, it would remove nothing.
func (f *forgetting) remove(ctx context.Context, table string, columns []models.Column, where string, args ...any) (rows int64, err error) {
	for range removeAttempts {
		found, written, err := f.written(ctx, table, columns, where, args...)
		if err != nil || found == 0 {
			return rows, err
		}
		rows = max(rows, found)
		err = f.session.Query(`DELETE FROM `+table+` USING TIMESTAMP ?`+where, append([]any{written}, args...)...).WithContext(ctx).Exec()
		if err != nil {
			return rows, err
		}
	}
	return rows, errors.New("a visitor's rows reappeared each time they were removed: run this again")
}

// written returns how many rows a visitor has, and the latest write timestamp among them. For a row without cells, which somebody inserted
// by hand, it takes the present time.
func (f *forgetting) written(ctx context.Context, table string, columns []models.Column, where string, args ...any) (rows, last int64, err error) {
	cells, scanned, times := make([]int64, len(columns)), make([]any, len(columns)), make([]string, len(columns))
	for i, column := range columns {
		scanned[i], times[i] = &cells[i], `WRITETIME(`+column.Name+`)`
	}
	query := f.session.Query(`SELECT `+strings.Join(times, `, `)+` FROM `+table+where, args...).WithContext(ctx)
	err = cql.Each(query, func() error {
		rows++
		last = max(last, cmp.Or(slices.Max(cells), time.Now().UnixMicro())) // 0: no cell
		return nil
	}, scanned...)
	return rows, last, err
}

// amongLatest removes IPs from the latest clicks. It reads all of them, since IPs are not in their key.
func (f *forgetting) amongLatest(ctx context.Context, ips []string) error {
	type partition struct {
		link string
		day  time.Time
	}
	table := f.schema.Name(models.TableOf(models.URLShortener, models.LatestClicks))
	read := func(each func(partition) error) error {
		var p partition
		return cql.Each(f.session.Query(`SELECT DISTINCT short_url, day FROM `+table).WithContext(ctx).PageSize(1000), func() error { return each(p) },
			&p.link, &p.day)
	}
	return together(ctx, f, read, func(ctx context.Context, p partition) error {
		var at gocql.UUID
		var ip string
		var written int64 // 0: the row has no ip
		query := f.session.Query(`SELECT at, ip, WRITETIME(ip) FROM `+table+` WHERE short_url = ? AND day = ?`, p.link, p.day).WithContext(ctx).PageSize(1000)
		return cql.Each(query, func() error {
			if written == 0 || !slices.Contains(ips, ip) {
				return nil
			}
			// Only a replay writes this row again, with the same timestamp: it stays deleted.
			err := f.session.Query(`DELETE FROM `+table+` USING TIMESTAMP ? WHERE short_url = ? AND day = ? AND at = ?`,
				max(written, time.Now().UnixMicro()), p.link, p.day, at).WithContext(ctx).Exec()
			if err != nil {
				return err
			}
			f.clicks.Add(1)
			return nil
		}, &at, &ip, &written)
	})
}
