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

const (
	sinkBatch    = 500 // events
	sinkInFlight = 4   // batches
)

// measureSink is the strongest rival: a sink that collects 500 events and sends their visitors as one unlogged batch and
// their counters as one counter batch, over as many partitions as come, a few at once. It cannot tell who is new, so it
// counts no uniques; and a batch that fails is counted again or not at all.
func measureSink(ctx context.Context, t task) (m measured, err error) {
	session, err := connect(t)
	if err != nil {
		return m, err
	}
	defer session.Close()
	s := &sink{session: session, cql: newCQL(t.Suffix)}
	watch := begin()
	limited, cancel := context.WithTimeout(ctx, time.Duration(t.Seconds)*time.Second)
	defer cancel()
	work, working := errgroup.WithContext(ctx) // what is begun is finished, and counts
	events := make(chan models.Event)
	for range sinkInFlight {
		work.Go(func() error { return s.run(working, events) })
	}
	err = workload.Read(limited, t.Broker, t.Topic, t.Events, func(ctx context.Context, message kafka.Message) error {
		event, err := decode(t, message.Value)
		if err != nil {
			return err
		}
		select {
		case events <- event:
		case <-ctx.Done():
		}
		return nil
	})
	close(events)
	if failed := work.Wait(); err == nil {
		err = failed
	}
	m.Events, m.Requests, m.Statements = int(s.events.Load()), float64(s.requests.Load()), float64(s.statements.Load())
	if n := s.most[gocql.CounterBatch].Load(); n > 0 {
		m.Note = fmt.Sprintf("Cassandra took %d counter statements of the sink at once (batch_size_fail_threshold)", n)
	}
	watch.end(&m)
	return m, err
}

type sink struct {
	session                      *gocql.Session
	cql                          cqls
	events, requests, statements atomic.Int64
	most                         [3]atomic.Int64 // statements in a batch, by its type; 0: as many as come
}

func (s *sink) run(ctx context.Context, in <-chan models.Event) error {
	for more := true; more; {
		batch := make([]models.Event, 0, sinkBatch)
		for len(batch) < sinkBatch {
			var e models.Event
			if e, more = <-in; !more {
				break
			}
			batch = append(batch, e)
		}
		if len(batch) == 0 {
			break
		}
		if err := s.send(ctx, batch); err != nil {
			return err
		}
		s.events.Add(int64(len(batch)))
	}
	return nil
}

func (s *sink) send(ctx context.Context, events []models.Event) error {
	visitors, counters := s.session.NewBatch(gocql.UnloggedBatch), s.session.NewBatch(gocql.CounterBatch)
	for _, e := range events {
		sightings := e.Sightings()
		for _, sighting := range sightings {
			cql, args := s.cql.insert(sighting)
			visitors.Query(cql, args...)
		}
		e.Count(make([]bool, len(sightings)), func(key models.Key, cell models.Cell, n int64) {
			cql, args := s.cql.update(key, cell, n)
			counters.Query(cql, args...)
		})
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, batch := range []*gocql.Batch{visitors, counters} {
		group.Go(func() error { return s.execute(ctx, batch.Type, batch.Entries) })
	}
	return group.Wait()
}

// execute sends the entries as one batch, or as several if Cassandra has found such batches too large before: who runs a sink
// would have tuned it so.
func (s *sink) execute(ctx context.Context, of gocql.BatchType, entries []gocql.BatchEntry) error {
	for len(entries) > 0 {
		most := int(s.most[of].Load())
		if most == 0 {
			most = len(entries)
		}
		batch := s.session.NewBatch(of).WithContext(ctx)
		batch.Entries = entries[:min(most, len(entries))]
		var requests int64
		err := insist(ctx, &requests, func() error { return s.session.ExecuteBatch(batch) })
		if cql.RefusedAs(err, gocql.ErrCodeInvalid) && most > 1 {
			s.most[of].Store(int64(most / 2))
			continue
		}
		if err != nil {
			return err
		}
		s.requests.Add(requests)
		s.statements.Add(int64(len(batch.Entries)))
		entries = entries[len(batch.Entries):]
	}
	return nil
}
