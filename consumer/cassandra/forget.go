package cassandra

import (
	"context"
	"errors"
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
		err = s.tellForgotten(ctx)
	}
	if err != nil {
		return f.total(), fmt.Errorf("forgetting visitors: %w", err)
	}
	return f.total(), nil
}

// tellForgotten changes the version that consumers look at, whatever the clock of the last one who did so said.
func (s *Store) tellForgotten(ctx context.Context) error {
	table := s.names.Footfall + `.forgotten`
	var last *int64
	err := s.session.Query(`SELECT WRITETIME(version) FROM ` + table + ` WHERE name = 'visitors'`).WithContext(ctx).Scan(&last)
	if err != nil && !errors.Is(err, gocql.ErrNotFound) {
		return err
	}
	at := time.Now().UnixMicro()
	if last != nil {
		at = max(at, *last+1)
	}
	return s.session.Query(`INSERT INTO `+table+` (name, version) VALUES ('visitors', ?) USING TIMESTAMP ?`, uuid.NewString(), at).
		WithContext(ctx).Exec()
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
	const where = ` WHERE siteId = ? AND interval_size = ? AND interval_start = ? AND bucket = ? AND guid = ?`
	read := func(each func(visitorPartition) error) error {
		return f.eachVisitorPartition(ctx, wholeRing, func(p visitorPartition) error {
			if byBucket[p.bucket] == nil {
				return nil
			}
			return each(p)
		})
	}
	return together(ctx, f, read, func(ctx context.Context, p visitorPartition) error {
		for _, guid := range byBucket[p.bucket] {
			rows, err := f.remove(ctx, f.names.Cardinality+`.GuidData`, where, append(p.args(), guid)...)
			if err != nil {
				return err
			}
			f.guids.Add(rows)
		}
		return nil
	})
}

// onLinks looks into the partition of every link.
func (f *forgetting) onLinks(ctx context.Context, ips []string) error {
	table := f.names.URLShortener + `.uniquecounterips`
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
		var here []string // one question for all, since few are on any link
		var ip string
		scanner := f.session.Query(`SELECT ip FROM `+table+` WHERE short_url = ? AND ip IN ?`, link, ips).WithContext(ctx).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(&ip); err != nil {
				return err
			}
			here = append(here, ip)
		}
		if err := scanner.Err(); err != nil {
			return err
		}
		for _, ip := range here {
			rows, err := f.remove(ctx, table, ` WHERE short_url = ? AND ip = ?`, link, ip)
			if err != nil {
				return err
			}
			f.ips.Add(rows)
		}
		return nil
	})
}

// removeAttempts is how often rows are removed that come back: a consumer may be writing the very visitor.
const removeAttempts = 5

// remove removes the rows of one visitor and tells how many there were. It does so as of their own write time: as of now, by a
// clock that is ahead, it would also hide the rows that the visitor gets when seen again, and each of its events would count
// as a new visitor; by one that is behind it would leave them.
func (f *forgetting) remove(ctx context.Context, table, where string, args ...any) (rows int64, err error) {
	for range removeAttempts {
		found, written, err := f.written(ctx, table, where, args...)
		if err != nil || found == 0 {
			return rows, err
		}
		rows = max(rows, found)
		err = f.session.Query(`DELETE FROM `+table+` USING TIMESTAMP ?`+where, append([]any{written}, args...)...).WithContext(ctx).Exec()
		if err != nil {
			return rows, err
		}
	}
	return rows, errors.New("a visitor's rows came back as often as they were removed: run it again")
}

// written is how many rows of a visitor there are, and when the last of them was written, by the clock of whoever did. A row that
// somebody put there by hand, without anything in it, does not tell: then it is now.
func (f *forgetting) written(ctx context.Context, table, where string, args ...any) (rows, last int64, err error) {
	scanner := f.session.Query(`SELECT WRITETIME(topic), WRITETIME(kafka_partition), WRITETIME(kafka_offset) FROM `+table+where, args...).
		WithContext(ctx).Iter().Scanner()
	for scanner.Next() {
		var cells [3]*int64
		if err := scanner.Scan(&cells[0], &cells[1], &cells[2]); err != nil {
			return 0, 0, err
		}
		rows++
		told := false
		for _, at := range cells {
			if at != nil {
				told, last = true, max(last, *at)
			}
		}
		if !told {
			last = max(last, time.Now().UnixMicro())
		}
	}
	return rows, last, scanner.Err()
}

// amongLatest reads all of the latest clicks: they are not kept by IP.
func (f *forgetting) amongLatest(ctx context.Context, ips []string) error {
	type partition struct {
		link string
		day  time.Time
	}
	table := f.names.URLShortener + `.latestclicks`
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
		var written *int64
		scanner := f.session.Query(`SELECT at, ip, WRITETIME(ip) FROM `+table+` WHERE short_url = ? AND day = ?`, p.link, p.day).WithContext(ctx).
			PageSize(1000).Iter().Scanner()
		for scanner.Next() {
			if err := scanner.Scan(&at, &ip, &written); err != nil {
				return err
			}
			if !slices.Contains(ips, ip) || written == nil {
				continue
			}
			// Nobody writes this row again but a replay, as of the same time, and then it stays deleted.
			err := f.session.Query(`DELETE FROM `+table+` USING TIMESTAMP ? WHERE short_url = ? AND day = ? AND at = ?`,
				max(*written, time.Now().UnixMicro()), p.link, p.day, at).WithContext(ctx).Exec()
			if err != nil {
				return err
			}
			f.clicks.Add(1)
		}
		return scanner.Err()
	})
}
