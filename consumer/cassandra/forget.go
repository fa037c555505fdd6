package cassandra

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"github.com/google/uuid"

	"footfall/models"
)

// Forgotten is what Forget removed.
type Forgotten struct {
	Guids, IPs, Clicks int64 // rows of GuidData, uniquecounterips, latestclicks
	Looked             int   // partitions
}

// Forget removes the rows that remember visitors, by guid on all sites and by IP, as it is stored, on all links. Counts stay.
// Then it tells the consumers that what they remember is no longer true. After an error it may be done again.
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
	if err == nil { // after the rows: told before, a consumer could read and remember what is about to go
		err = s.session.Query(`INSERT INTO `+s.names.footfall+`.forgotten (name, version) VALUES ('visitors', ?)`, uuid.NewString()).
			WithContext(ctx).Exec()
	}
	if err != nil {
		return f.total(), fmt.Errorf("forgetting visitors: %w", err)
	}
	return f.total(), nil
}

// forgetting is one Forget under way.
type forgetting struct {
	*Store
	progress           func(Forgotten)
	guids, ips, clicks atomic.Int64
	looked             int
}

func (f *forgetting) total() Forgotten {
	return Forgotten{f.guids.Load(), f.ips.Load(), f.clicks.Load(), f.looked}
}

// together does something for all that read hands on, many at once.
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

// onSites looks into the partitions whose bucket is that of a guid.
func (f *forgetting) onSites(ctx context.Context, guids []string) error {
	byBucket := map[string][]string{}
	for _, guid := range guids {
		byBucket[models.Bucket(guid)] = append(byBucket[models.Bucket(guid)], guid)
	}
	const where = `.GuidData WHERE siteId = ? AND interval_size = ? AND interval_start = ? AND bucket = ? AND guid = ?`
	read := func(each func(visitorPartition) error) error {
		return f.eachVisitorPartition(ctx, func(p visitorPartition) error {
			if byBucket[p.bucket] == nil {
				return nil
			}
			return each(p)
		})
	}
	return together(ctx, f, read, func(ctx context.Context, p visitorPartition) error {
		for _, guid := range byBucket[p.bucket] {
			var rows int64
			args := append(p.args(), guid)
			err := f.session.Query(`SELECT count(*) FROM `+f.names.cardinality+where, args...).WithContext(ctx).Scan(&rows)
			if err != nil {
				return err
			}
			if rows == 0 {
				continue
			}
			if err := f.session.Query(`DELETE FROM `+f.names.cardinality+where, args...).WithContext(ctx).Exec(); err != nil {
				return err
			}
			f.guids.Add(rows)
		}
		return nil
	})
}

// onLinks looks into the partition of every link.
func (f *forgetting) onLinks(ctx context.Context, ips []string) error {
	table := f.names.urlshortener + `.uniquecounterips`
	read := func(each func(string) error) error {
		var link string
		scanner := f.session.Query(`SELECT DISTINCT short_url FROM ` + table).WithContext(ctx).PageSize(1000).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(&link); err != nil {
				return err
			}
			if err := each(link); err != nil {
				return err
			}
		}
		return scanner.Err()
	}
	return together(ctx, f, read, func(ctx context.Context, link string) error {
		var rows int64
		err := f.session.Query(`SELECT count(*) FROM `+table+` WHERE short_url = ? AND ip IN ?`, link, ips).WithContext(ctx).Scan(&rows)
		if err != nil || rows == 0 {
			return err
		}
		f.ips.Add(rows)
		return f.session.Query(`DELETE FROM `+table+` WHERE short_url = ? AND ip IN ?`, link, ips).WithContext(ctx).Exec()
	})
}

// amongLatest reads all of the latest clicks: they are not kept by IP.
func (f *forgetting) amongLatest(ctx context.Context, ips []string) error {
	type partition struct {
		link string
		day  time.Time
	}
	table := f.names.urlshortener + `.latestclicks`
	read := func(each func(partition) error) error {
		var p partition
		scanner := f.session.Query(`SELECT DISTINCT short_url, day FROM ` + table).WithContext(ctx).PageSize(1000).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(&p.link, &p.day); err != nil {
				return err
			}
			if err := each(p); err != nil {
				return err
			}
		}
		return scanner.Err()
	}
	return together(ctx, f, read, func(ctx context.Context, p partition) error {
		var at gocql.UUID
		var ip string
		scanner := f.session.Query(`SELECT at, ip FROM `+table+` WHERE short_url = ? AND day = ?`, p.link, p.day).WithContext(ctx).
			PageSize(1000).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(&at, &ip); err != nil {
				return err
			}
			if !slices.Contains(ips, ip) {
				continue
			}
			err := f.session.Query(`DELETE FROM `+table+` WHERE short_url = ? AND day = ? AND at = ?`, p.link, p.day, at).
				WithContext(ctx).Exec()
			if err != nil {
				return err
			}
			f.clicks.Add(1)
		}
		return scanner.Err()
	})
}
