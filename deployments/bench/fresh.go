package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"
)

// freshness sends a steady 1,000 events/s through the door, one by one, and asks for the count of some of them until it can
// be read. It returns how long that took after the 202, sorted.
func (b *bench) freshness(ctx context.Context, t task, seconds int) (_ []time.Duration, err error) {
	if t.Suffix, err = b.migrate(ctx, t); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.drop(context.WithoutCancel(ctx), t.Suffix)) }()
	door, address, err := b.startDoor(ctx, t)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, door.Stop(time.Minute)) }()
	consumer, err := b.startConsumer(ctx, t, "fresh"+t.Suffix, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, consumer.Stop(time.Minute)) }()
	for {
		sum, err := scrape(ctx, []*replica{consumer})
		if err != nil {
			return nil, err
		}
		if sum["generations"] > 0 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}

	const connections, perSecond = 20, 1000
	limited, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	bodies := requestBodies(2000, 1)
	group, _ := errgroup.WithContext(ctx)
	for i := range connections {
		group.Go(func() error {
			return pace(limited, address, bodies[i*100:(i+1)*100], time.Second*connections/perSecond)
		})
	}
	probes := make([][]time.Duration, 10)
	for i := range probes {
		group.Go(func() (err error) {
			probes[i], err = b.probe(limited, ctx, t, address, i)
			return err
		})
	}
	err = group.Wait()
	waits := slices.Concat(probes...)
	slices.Sort(waits)
	return waits, err
}

// probe clicks on links of its own, one after the other, and waits for each count.
func (b *bench) probe(limited, ctx context.Context, t task, address string, i int) (waits []time.Duration, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	answers := bufio.NewReader(conn)
	for n := 0; limited.Err() == nil; n++ {
		link := fmt.Sprintf("probe%d-%05d", i, n)
		if err := exchange(conn, answers, "application/json", []byte(`{"v":1,"short_url":"`+link+`","ip":"10.0.0.1"}`)); err != nil {
			return nil, err
		}
		accepted := time.Now()
		for !b.counted(ctx, t.Suffix, link) {
			time.Sleep(10 * time.Millisecond)
		}
		waits = append(waits, time.Since(accepted))
	}
	return waits, nil
}

// pace sends one body per interval.
func pace(ctx context.Context, address string, bodies [][]byte, interval time.Duration) error {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	answers, tick := bufio.NewReader(conn), time.NewTicker(interval)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := exchange(conn, answers, "application/json", bodies[i%len(bodies)]); err != nil {
			return err
		}
	}
}

func (b *bench) counted(ctx context.Context, suffix, link string) bool {
	var n int64
	err := b.session.Query(`SELECT value FROM urlshortener`+suffix+`.clickcounter WHERE short_url = ?`, link).
		Consistency(gocql.LocalQuorum).WithContext(ctx).Scan(&n)
	return err == nil && n > 0 || ctx.Err() != nil
}

func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
