package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/broker"
	"footfall/test/faults/wire"
	"footfall/test/harness"
)

// flushPatience is how long to wait for the next flush with enough keys.
const flushPatience = 90 * time.Second

// hit waits until the armed fault has struck.
func hit(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(flushPatience):
		t.Fatalf("no flush with enough writes within %s: nothing was tested", flushPatience)
	}
}

// midFlush calls do in the midst of a flush of c and returns how many writes were under way.
func midFlush(t *testing.T, c *consumer, do func() error) (unanswered int) {
	t.Helper()
	var failed error
	hit(t, c.proxy.During(wire.Counters, midst(), func(n int) { unanswered, failed = n, do() }))
	if failed != nil {
		t.Fatal(failed)
	}
	return unanswered
}

// midst is the number of requests of a flush after which the fault comes. A request carries up to ten keys; a flush seldom has fewer
// than twenty requests.
func midst() int { return 2 + rand.IntN(8) }

// A consumer is killed in the midst of a flush: some keys of the chunk are written, some are under way, some are not begun.
func consumerKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim, other, load := w.startTwo(t, 1, rate)
	rounds, hits := times(10, 3), 0
	var taken, counting time.Duration
	for i := range rounds {
		if i > 0 {
			victim, other = other, w.addConsumer(t)
			w.members(t, 2)
			w.progress(t, "joining")
		}
		w.collect(victim)
		unanswered := midFlush(t, victim, victim.kill)
		killed := time.Now()
		if unanswered > 0 {
			hits++
		}
		w.takenOver(t, victim)
		took := time.Since(killed)
		w.progress(t, "taking over")
		counted := time.Since(killed)
		t.Logf("kill %d: taken over after %.1f s, counted on after %.1f s", i+1, took.Seconds(), counted.Seconds())
		taken, counting = max(taken, took), max(counting, counted)
	}
	end := time.Now()
	load.end(t)
	r.hits = fmt.Sprintf("%d of %d", hits, rounds)
	r.note = fmt.Sprintf("partitions taken over within %.1f s, counted on within %.1f s", taken.Seconds(), counting.Seconds())
	if hits < rounds {
		t.Errorf("%d of %d kills hit a flush", hits, rounds)
	}
	// On an idle machine it is half of that. Others may take a part of the processors.
	if most := 30 * time.Second; counting > most {
		t.Errorf("counting went on %s after a kill, want %s at the most", counting, most)
	}
	w.equal(t, r, end)
}

// A consumer is paused in the midst of a flush until it has lost its partitions. When resumed, it begins none of the writes that it had left.
func zombie(t *testing.T, s servers, r *row) {
	// With few writes in flight many are left to send, and with a long timeout the consumer would still send them after the pause.
	const inFlight = 8
	w := newWorld(t, s, fmt.Sprint("FOOTFALL_CASSANDRA_IN_FLIGHT=", inFlight), "FOOTFALL_CASSANDRA_TIMEOUT=60s")
	victim, _, load := w.startTwo(t, 2, rate)
	rounds, under, late := times(3, 1), 0, int64(0)
	var end time.Time
	for range rounds {
		under += midFlush(t, victim, victim.Pause)
		w.takenOver(t, victim)
		w.progress(t, "taking over")
		before := victim.proxy.Written()
		if err := victim.Resume(); err != nil {
			t.Fatal(err)
		}
		end = time.Now()
		// It is out of the group and must join again before it writes anything new, so these writes are old ones.
		time.Sleep(200 * time.Millisecond)
		late += victim.proxy.Written() - before
		w.members(t, 2)
		w.progress(t, "joining again")
	}
	load.end(t)
	r.hits = fmt.Sprintf("%d of %[1]d", rounds)
	r.note = fmt.Sprintf("%d writes by the zombie in the first 0.2 s after the pause, %d were under way before", late, under)
	if most := int64(rounds * 2 * inFlight); late > most { // a flush, and beside it a check that repairs
		t.Errorf("zombies sent %d writes, and had handed %d to the driver at the most", late, most)
	}
	w.equal(t, r, end)
}

// Consumers join and leave while events come in.
func rebalances(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	w.addConsumer(t)
	load := w.send(t, 3)
	w.progress(t, "starting")
	changes := 0
	var guests []*consumer
	for begun := time.Now(); time.Since(begun) < time.Minute; changes++ {
		next := time.Now().Add(3 * time.Second)
		if len(guests) < 1+changes%3 {
			guests = append(guests, w.addConsumer(t))
		} else {
			w.collect(guests[0])
			if err := guests[0].Stop(time.Minute); err != nil {
				t.Errorf("%v\n%s", err, guests[0].Tail(30))
			}
			guests = guests[1:]
		}
		time.Sleep(time.Until(next))
	}
	end := time.Now()
	load.end(t)
	generations := int(w.metric(t, "footfall_generations_total"))
	r.hits = fmt.Sprintf("%d changes", changes)
	r.note = fmt.Sprintf("%d generations of members", generations)
	if generations < changes {
		t.Errorf("%d generations after %d changes: nothing was tested", generations, changes)
	}
	w.equal(t, r, end)
}

// startTwo starts two consumers and, once the group is stable, a load of so many events a second; it returns when both consumers count.
func (w *world) startTwo(t *testing.T, seed uint64, rate int) (first, second *consumer, load *traffic) {
	t.Helper()
	first, second = w.addConsumer(t), w.addConsumer(t)
	w.members(t, 2)
	load = w.sendAt(t, seed, plenty, rate)
	w.progress(t, "starting")
	return first, second, load
}

// members waits until the group is stable with n members.
func (w *world) members(t *testing.T, n int) {
	t.Helper()
	harness.Within(t, 2*time.Minute, fmt.Sprintf("a group of %d", n), func() error {
		got, err := w.Members(t.Context())
		if err == nil && got != n {
			err = fmt.Errorf("%d members", got)
		}
		return err
	})
}

// progress waits until every partition's committed offset has moved on. what names the event before it, for the error.
func (w *world) progress(t *testing.T, what string) {
	t.Helper()
	var before map[broker.Partition]int64
	harness.Within(t, catchUpPatience, "progress after "+what, func() error {
		now, err := w.Committed(t.Context())
		if err != nil {
			return err
		}
		if before == nil {
			before = now
		}
		for p, offset := range now {
			if offset <= before[p] {
				if w.sent[len(w.sent)-1].over() {
					t.Fatalf("the load ended before there was progress after %s: %v", what, w.sent[len(w.sent)-1].err)
				}
				return fmt.Errorf("%v is still at %d", p, offset)
			}
		}
		return nil
	})
}

// takenOver waits until the process of c owns no partition any more.
func (w *world) takenOver(t *testing.T, c *consumer) {
	t.Helper()
	session, err := w.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	harness.Within(t, time.Minute, "taking over", func() error {
		scanner := session.Query("SELECT owner FROM footfall_" + w.name + ".owners").WithContext(t.Context()).Iter().Scanner()
		held := 0
		for scanner.Next() {
			var owner string
			if err := scanner.Scan(&owner); err != nil {
				return err
			}
			if strings.Contains(owner, fmt.Sprintf("/%d/", c.PID())) {
				held++
			}
		}
		if err := scanner.Err(); err != nil {
			return err
		}
		if held > 0 {
			return fmt.Errorf("%d partitions still belong to %s", held, c.Name)
		}
		return nil
	})
}
