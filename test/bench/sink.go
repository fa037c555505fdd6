package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gocql/gocql"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/internal/cql"
	"footfall/models"
	"footfall/test/bench/workload"
)

// What the sink does at once is what a consumer does by default, or more.
const (
	sinkEvents   = 20_000      // are written at once, unless it still writes those before
	sinkAge      = time.Second // of the oldest: then fewer are written
	sinkMost     = 300_000     // summed while it writes
	sinkInFlight = 256         // requests
	sinkRequest  = 200         // statements of one, unless Cassandra finds that too large; with more of them few are under way at once
	sinkKnown    = 1_000_000   // visitors that it need not write again
)

// measureSink is the strongest rival: a sink as who knows Cassandra well would write it. It sums many events, so that a counter is updated once for all
// of them, sends counters of a partition together and many partitions in one request, writes the row of a visitor that it knows no second time, and
// reads on while it writes. It cannot tell who is new, so it counts no uniques; and a batch that fails is counted again or not at all.
func measureSink(ctx context.Context, t task) (m measured, err error) {
	session, err := connect(t)
	if err != nil {
		return m, err
	}
	defer session.Close()
	known, err := lru.New[visitorKey, struct{}](sinkKnown)
	if err != nil {
		return m, err
	}
	s := &sink{session: session, cql: newCQL(t.Suffix), known: known}
	for of := range s.most {
		s.most[of].Store(sinkRequest)
	}
	watch := begin()
	limited, cancel := context.WithTimeout(ctx, time.Duration(t.Seconds)*time.Second)
	defer cancel()
	work, working := errgroup.WithContext(ctx) // what is begun is finished, and counts
	events, sums := make(chan models.Event, 10_000), make(chan *sum)
	work.Go(func() error { s.collect(working, events, sums); return nil })
	work.Go(func() error {
		for sum := range sums {
			if err := s.send(working, sum); err != nil {
				return err
			}
		}
		return nil
	})
	err = workload.Read(limited, t.Broker, t.Topic, t.Events, func(_ context.Context, message kafka.Message) error {
		event, err := decode(t, message.Value)
		if err != nil {
			return err
		}
		select {
		case events <- event:
		case <-working.Done():
		}
		return nil
	})
	close(events)
	if failed := work.Wait(); failed != nil {
		err = failed
	}
	m.Events, m.Requests, m.Statements = int(s.events.Load()), float64(s.requests.Load()), float64(s.statements.Load())
	if most := s.most[gocql.CounterBatch].Load(); most < sinkRequest {
		m.Note = fmt.Sprintf("Cassandra took %d counter statements of the sink at once (batch_size_fail_threshold)", most)
	}
	watch.end(&m)
	return m, err
}

type sink struct {
	session                      *gocql.Session
	cql                          cqls
	known                        *lru.Cache[visitorKey, struct{}]
	nobody                       []bool // is new, of all that an event is a sighting for
	events, requests, statements atomic.Int64
	most                         [3]atomic.Int64 // statements in a batch, by its type
}

// sum is what some events add to each counter, and the visitors that are not known.
type sum struct {
	events   int
	counters map[models.Key]map[models.Cell]int64
	visitors []gocql.BatchEntry
}

// collect sums events until there are many, or the first is old, and goes on until they are taken.
func (s *sink) collect(ctx context.Context, in <-chan models.Event, out chan<- *sum) {
	defer close(out)
	for more := true; more; {
		next, old := &sum{counters: map[models.Key]map[models.Cell]int64{}}, (<-chan time.Time)(nil)
		for ripe, taken := false, false; !taken; {
			var to chan<- *sum
			if ripe = ripe || next.events >= sinkEvents || !more; ripe {
				to = out
			}
			from := in
			if next.events >= sinkMost || !more {
				from = nil
			}
			select {
			case e, is := <-from:
				if more = is; is {
					s.add(next, e)
				}
				if old == nil {
					old = time.After(sinkAge)
				}
			case <-old:
				ripe = true
			case to <- next:
				taken = true
			case <-ctx.Done():
				return
			}
		}
	}
}

func (s *sink) add(sum *sum, e models.Event) {
	sum.events++
	key, row := s.cql.visitor(e)
	if known, _ := s.known.ContainsOrAdd(key, struct{}{}); !known {
		sum.visitors = append(sum.visitors, row())
	}
	if s.nobody == nil {
		s.nobody = make([]bool, len(e.Sightings()))
	}
	e.Count(s.nobody, func(key models.Key, cell models.Cell, n int64) {
		if sum.counters[key] == nil {
			sum.counters[key] = map[models.Cell]int64{}
		}
		sum.counters[key][cell] += n
	})
}

func (s *sink) send(ctx context.Context, sum *sum) error {
	counters := make([]gocql.BatchEntry, 0, 4*len(sum.counters))
	for key, cells := range sum.counters {
		for cell, n := range cells {
			stmt, args := s.cql.update(key, cell, n)
			counters = append(counters, gocql.BatchEntry{Stmt: stmt, Args: args})
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(sinkInFlight)
	for of, entries := range map[gocql.BatchType][]gocql.BatchEntry{gocql.UnloggedBatch: sum.visitors, gocql.CounterBatch: counters} {
		for len(entries) > 0 {
			n := min(len(entries), int(s.most[of].Load()))
			piece := entries[:n]
			group.Go(func() error { return s.execute(ctx, of, piece) })
			entries = entries[n:]
		}
	}
	err := group.Wait()
	if err == nil {
		s.events.Add(int64(sum.events))
	}
	return err
}

// execute sends the entries as one batch, or as several if Cassandra finds them too large: who runs a sink would have tuned it so.
func (s *sink) execute(ctx context.Context, of gocql.BatchType, entries []gocql.BatchEntry) error {
	for len(entries) > 0 {
		most := s.most[of].Load()
		n := min(len(entries), int(most))
		batch := s.session.NewBatch(of).WithContext(ctx)
		batch.Entries = entries[:n]
		var requests int64
		err := insist(ctx, &requests, func() error { return s.session.ExecuteBatch(batch) })
		if cql.RefusedAs(err, gocql.ErrCodeInvalid) && n > 1 {
			s.most[of].CompareAndSwap(most, int64(n/2)) // or another has lowered it meanwhile
			continue
		}
		if err != nil {
			return err
		}
		s.requests.Add(requests)
		s.statements.Add(int64(n))
		entries = entries[n:]
	}
	return nil
}
