package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/internal/cql"
	"footfall/models"
	"footfall/test/bench/workload"
)

// measureKafka reads the topic and does nothing: no consumer can be faster.
func measureKafka(ctx context.Context, t task) (m measured, err error) {
	watch := begin()
	err = workload.Read(ctx, t.Broker, t.Topic, t.Events, func(context.Context, kafka.Message) error { return nil })
	m.Events = t.Events
	watch.end(&m)
	return m, err
}

func connect(t task) (*gocql.Session, error) {
	cluster := gocql.NewCluster(t.Host)
	cluster.Port, cluster.ProtoVersion, cluster.Timeout, cluster.ConnectTimeout = t.Port, 4, time.Minute, 10*time.Second
	cluster.Consistency = gocql.LocalQuorum
	cluster.PoolConfig.HostSelectionPolicy = gocql.TokenAwareHostPolicy(gocql.RoundRobinHostPolicy())
	return cluster.CreateSession()
}

func decode(t task, data []byte) (models.Event, error) {
	if t.Clicks {
		return workload.Plan().DecodeClick(data)
	}
	return workload.Plan().DecodeVisit(data)
}

// usualInFlight is how many events the usual consumer has under way.
const usualInFlight = 64

// measureUsual is what most people write: per event an INSERT … IF NOT EXISTS for each row that remembers the visitor, and
// a counter UPDATE for each counter, one after the other; 64 events at once. It counts twice what it is given twice.
func measureUsual(ctx context.Context, t task) (m measured, err error) {
	session, err := connect(t)
	if err != nil {
		return m, err
	}
	defer session.Close()
	cql := newCQL(t.Suffix)
	if err := session.Query(cql.byInterval()).WithContext(ctx).Exec(); err != nil {
		return m, err
	}
	var events, requests atomic.Int64
	watch := begin()
	limited, cancel := context.WithTimeout(ctx, time.Duration(t.Seconds)*time.Second)
	defer cancel()
	work, working := errgroup.WithContext(limited) // what is not done by then does not count: to insist may take minutes
	work.SetLimit(usualInFlight)
	err = workload.Read(limited, t.Broker, t.Topic, t.Events, func(_ context.Context, message kafka.Message) error {
		event, err := decode(t, message.Value)
		if err != nil {
			return err
		}
		work.Go(func() error {
			n, err := usual(working, session, cql, event)
			requests.Add(n)
			if limited.Err() != nil {
				err = nil // it was cut off, or nearly, and does not count
			} else if err == nil {
				events.Add(1)
			}
			return err
		})
		return nil
	})
	if failed := work.Wait(); err == nil {
		err = failed
	}
	m.Events, m.Requests, m.Statements = int(events.Load()), float64(requests.Load()), float64(requests.Load())
	watch.end(&m)
	return m, err
}

func usual(ctx context.Context, session *gocql.Session, cql cqls, event models.Event) (requests int64, err error) {
	sightings := event.Sightings()
	first := make([]bool, len(sightings))
	for i, s := range sightings {
		insert, args := cql.insert(s)
		err := insist(ctx, &requests, func() (err error) {
			first[i], err = session.Query(insert+" IF NOT EXISTS", args...).WithContext(ctx).MapScanCAS(map[string]any{})
			return err
		})
		if err != nil {
			return requests, fmt.Errorf("inserting: %w", err)
		}
	}
	event.Count(first, func(key models.Key, cell models.Cell, n int64) {
		if err == nil {
			update, args := cql.update(key, cell, n)
			err = insist(ctx, &requests, func() error { return session.Query(update, args...).WithContext(ctx).Exec() })
		}
	})
	return requests, err
}

// insist tries again when Cassandra ran out of time, as everybody does: lightweight transactions on one partition get into
// each other's way. That the first attempt may have counted is one reason why the counts of such consumers are not exact.
func insist(ctx context.Context, requests *int64, do func() error) (err error) {
	for {
		*requests++
		if err = do(); ctx.Err() != nil || !cql.RefusedAs(err, gocql.ErrCodeWriteTimeout, gocql.ErrCodeReadTimeout, gocql.ErrCodeCASWriteUnknown) {
			return err
		}
	}
}
