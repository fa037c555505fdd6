package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"footfall/test/bench/subject"
)

// freshness sends a steady 1,000 events/s through the producer, one by one, and asks for the count of some of them until it can
// be read. It returns how long that took after the 202, sorted, and how many events were sent per second.
func (b *bench) freshness(ctx context.Context, t task, seconds int) (waits []time.Duration, rate float64, err error) {
	if t.Suffix, err = b.migrate(ctx, t); err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, t.Drop(context.WithoutCancel(ctx), b.session)) }()
	producer, address, err := b.StartProducer(ctx, t.Place)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, producer.Stop(time.Minute)) }()
	consumer, err := b.StartConsumer(ctx, t.Place, "fresh"+t.Suffix, 0)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, consumer.Stop(time.Minute)) }()
	if err := subject.Started(ctx, consumer); err != nil {
		return nil, 0, err
	}

	const connections, perSecond = 50, 1000
	bodies := requestBodies(perSecond*seconds, 1) // each is sent once: a third of them are of visitors who are new
	each := len(bodies) / connections
	limited, cancel := context.WithTimeout(ctx, time.Duration(seconds)*time.Second)
	defer cancel()
	group, _ := errgroup.WithContext(ctx)
	var sent atomic.Int64
	for i := range connections {
		group.Go(func() error {
			n, err := pace(limited, address, bodies[i*each:(i+1)*each], time.Second*connections/perSecond)
			sent.Add(int64(n))
			return err
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
	waits = slices.Concat(probes...)
	slices.Sort(waits)
	rate = float64(sent.Load()) / float64(seconds)
	if err == nil && rate < 0.95*perSecond {
		err = fmt.Errorf("the producer took %.0f events/s of %d", rate, perSecond)
	}
	return waits, rate, err
}

// probe clicks on a link of its own twice a second, however long the counts before it take, and waits for each.
func (b *bench) probe(limited, ctx context.Context, t task, address string, i int) (waits []time.Duration, err error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close() }()
	answers, tick := bufio.NewReader(conn), time.NewTicker(500*time.Millisecond)
	defer tick.Stop()
	var mu sync.Mutex
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for n := 0; ; n++ {
		select {
		case <-limited.Done():
			waiting.Wait()
			return waits, nil
		case <-tick.C:
		}
		link := fmt.Sprintf("probe%d-%05d", i, n)
		if err := exchange(conn, answers, "application/json", []byte(`{"v":1,"short_url":"`+link+`","ip":"10.0.0.1"}`)); err != nil {
			return nil, err
		}
		accepted := time.Now()
		waiting.Go(func() {
			for !b.counted(ctx, t.Suffix, link) {
				time.Sleep(10 * time.Millisecond)
			}
			mu.Lock()
			defer mu.Unlock()
			waits = append(waits, time.Since(accepted))
		})
	}
}

// pace sends one body per interval and tells how many there were.
func pace(ctx context.Context, address string, bodies [][]byte, interval time.Duration) (int, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close() }()
	answers, tick := bufio.NewReader(conn), time.NewTicker(interval)
	defer tick.Stop()
	for i, body := range bodies {
		select {
		case <-ctx.Done():
			return i, nil
		case <-tick.C:
		}
		if err := exchange(conn, answers, "application/json", body); err != nil {
			return i, err
		}
	}
	return len(bodies), nil
}

func (b *bench) counted(ctx context.Context, suffix, link string) bool {
	var n int64
	err := b.session.Query(`SELECT value FROM urlshortener`+suffix+`.clickcounter WHERE short_url = ?`, link).
		Consistency(gocql.LocalQuorum).WithContext(ctx).Scan(&n)
	return err == nil && n > 0 || ctx.Err() != nil
}

func title(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
