package faults

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/deployments/stack"
	"footfall/models"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// onThreeBrokers are faults of a Kafka with three brokers, three replicas of every topic and min.insync.replicas 2. Each broker is a controller
// too, as in a small deployment: without two of them there is no new leader, and the set of replicas in sync stays as it is.
var onThreeBrokers = []fault{
	{"leader-killed", "three brokers: kill -9 of a partition's leader", false, leaderKilled},
	{"coordinator-killed", "three brokers: kill -9 of the group's coordinator", false, coordinatorKilled},
	{"followers-paused", "three brokers: both followers of a partition paused; then again, and kill -9 of its leader", false, followersPaused},
	{"isr-shrinks", "three brokers: one paused until two are in sync, kill -9 of the leader, the paused one resumed", false, isrShrinks},
	{"rolling-restart", "three brokers: each stopped and started again, in turn", false, rollingRestart},
	{"long-flush", "three brokers: a rebalance during a flush that takes longer than the session timeout", false, longFlush},
	{"control-acks", "acks=1; followers paused, leader killed", false, controlAcks},
}

// A leader is killed while it has requests. What it acknowledged is on another broker, which leads next.
func leaderKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	w.threeReplicas(t)
	_, _, load := w.startTwo(t, 21, rate)
	const rounds = 2
	var elected, counting time.Duration
	var end time.Time
	for i := range rounds {
		topic := w.Topics[i%len(w.Topics)]
		number, leader := w.ledApart(t, topic)
		killed := time.Now()
		if err := s.brokers[leader].Kill(); err != nil {
			t.Fatal(err)
		}
		w.newLeader(t, topic, number, leader)
		elected = max(elected, time.Since(killed))
		w.countsOn(t, "a leader was killed")
		counting = max(counting, time.Since(killed))
		w.startBroker(t, leader, w.allTopics()...)
		end = time.Now()
		w.countsOn(t, "the broker came back")
	}
	r.hits = fmt.Sprintf("%d kills", rounds)
	w.keeps(t, r, load, end, "another leader within %.1f s, all partitions counted on within %.1f s", elected.Seconds(), counting.Seconds())
}

// The broker that coordinates the group is killed: members have to find the next one, and so have their heartbeats and commits.
func coordinatorKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	_, _, load := w.startTwo(t, 22, rate)
	const rounds = 2
	var counting time.Duration
	var end time.Time
	for range rounds {
		coordinator := w.coordinator(t)
		killed := time.Now()
		if err := s.brokers[coordinator].Kill(); err != nil {
			t.Fatal(err)
		}
		w.members(t, 2)
		w.countsOn(t, "the coordinator was killed")
		counting = max(counting, time.Since(killed))
		if next := w.coordinator(t); next == coordinator {
			t.Errorf("broker %d coordinates the group, and is dead", next+1)
		}
		w.startBroker(t, coordinator, w.allTopics()...)
		end = time.Now()
		w.members(t, 2)
		w.countsOn(t, "the broker came back")
	}
	r.hits = fmt.Sprintf("%d kills", rounds)
	w.keeps(t, r, load, end, "all partitions counted on within %.1f s; %d generations of members", counting.Seconds(),
		int(w.metric(t, "footfall_generations_total")))
}

// A leader whose followers hang has no replica but its own, so it must acknowledge nothing. The second time it is killed before they wake up:
// what it had alone is gone, and nobody was told otherwise.
func followersPaused(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	_, _, load := w.startTwo(t, 23, rate)
	var end time.Time
	for _, kill := range []bool{false, true} {
		leader := w.leader(t, w.Topics[1], 0)
		resume := w.pauseBrokers(t, w.otherThan(leader)...)
		w.acceptsNothing(t, 12*time.Second) // longer than the sessions of brokers and of members
		if kill {
			if err := s.brokers[leader].Kill(); err != nil {
				t.Fatal(err)
			}
		}
		resume()
		end = time.Now()
		if kill {
			w.newLeader(t, w.Topics[1], 0, leader)
		}
		w.countsOn(t, "the followers were paused")
		if kill {
			w.startBroker(t, leader, w.allTopics()...)
		}
		w.members(t, 2)
		w.inSync(t, 3, w.allTopics()...)
	}
	r.hits = "2 pauses, 1 kill"
	w.keeps(t, r, load, end, "no event answered 202 during the pauses")
}

// With one of three brokers away for longer than its session, the other two are in sync and go on. If the leader is killed then, only the third
// may lead: the one that was away lacks events, and must fetch them from it.
func isrShrinks(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	_, _, load := w.startTwo(t, 24, rate)
	topic := w.Topics[1]
	leader := w.leader(t, topic, 0)
	others := w.otherThan(leader)
	away, heir := others[0], others[1]
	paused := time.Now()
	resume := w.pauseBrokers(t, away)
	w.inSync(t, 2, w.allTopics()...)
	shrunk := time.Since(paused)
	before := w.accepted(t)
	w.countsOn(t, "a follower was paused")
	if n := w.accepted(t) - before; n == 0 {
		t.Error("no event was answered 202 while two replicas of three were in sync")
	}
	if err := s.brokers[leader].Kill(); err != nil {
		t.Fatal(err)
	}
	w.acceptsNothing(t, 3*time.Second)
	resume()
	end := time.Now()
	if next := w.newLeader(t, topic, 0, leader); next != heir {
		t.Errorf("broker %d leads, which was not in sync", next+1)
	}
	w.countsOn(t, "the leader was killed")
	counting := time.Since(end)
	w.startBroker(t, leader, w.allTopics()...)
	w.members(t, 2)
	r.hits = "1 pause, 1 kill"
	w.keeps(t, r, load, end, "two in sync within %.1f s; all partitions counted on within %.1f s after the pause", shrunk.Seconds(), counting.Seconds())
}

// Each broker is stopped as an operator does, and the next one only when all are in sync again.
func rollingRestart(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	_, _, load := w.startTwo(t, 25, rate)
	var end time.Time
	for i, b := range s.brokers {
		if err := b.Stop(patiently(t)); err != nil {
			t.Fatal(err)
		}
		w.startBroker(t, i, w.allTopics()...)
		end = time.Now()
		w.countsOn(t, "restarting a broker")
	}
	r.hits = fmt.Sprintf("%d restarts", len(s.brokers))
	w.keeps(t, r, load, end, "%d generations of members", int(w.metric(t, "footfall_generations_total")))
}

// A member whose last flush takes longer than the session timeout keeps its place in the group by heartbeats of its own: kafka-go sends none once
// a generation is over. They have to go to the group's coordinator, and here the member is told of the other two brokers only.
func longFlush(t *testing.T, s servers, r *row) {
	const sites, session = 8_000, 14 * time.Second
	w := newWorld(t, s, "FOOTFALL_LIMITS_NEW_KEYS_PER_MINUTE=0", "FOOTFALL_KAFKA_SESSION_TIMEOUT="+session.String(),
		fmt.Sprint("FOOTFALL_CHUNK_MAX_EVENTS=", sites), "FOOTFALL_CHUNK_MAX_AGE=20s") // all in one chunk, the first, which has to be finished
	events := eachSite(26, sites)
	order := make([]int, len(events))
	for i := range order {
		order[i] = i
	}
	first := w.sendThese(t, 26, events, order, 10*rate)
	first.wait(t)
	var told []*stack.Kafka
	for _, i := range w.otherThan(w.coordinator(t)) {
		told = append(told, s.brokers[i])
	}
	env := "FOOTFALL_KAFKA_BROKERS=" + addresses(told)
	victim := w.addBehindProxy(t, "consumer", env)
	victim.proxy.Slow(2 * time.Millisecond) // some seconds for as many keys as are written at once, which must take less than three quarters of the session timeout
	midFlush(t, victim, func() error { return nil })
	other := w.addBehindProxy(t, "consumer", env)
	harness.Within(t, time.Minute, "a rebalance", func() error {
		_, err := w.Members(t.Context())
		if err != nil && strings.Contains(err.Error(), "Rebalance") { // Preparing or Completing
			return nil
		}
		return errors.Join(errors.New("the group goes on as before"), err)
	})
	begun := time.Now()
	w.members(t, 2)
	took := time.Since(begun)
	victim.proxy.Slow(0)
	end := time.Now()
	load := w.send(t, 27)
	w.progress(t, "a long flush")
	if took < session {
		t.Errorf("the last flush took %s: nothing was tested", took)
	}
	r.hits = "1 of 1"
	w.keeps(t, r, load, end, "the last flush went on for %.1f s, with a session timeout of %.0f s", took.Seconds(), session.Seconds())
	for _, c := range []*consumer{victim, other} {
		printed, err := c.Printed()
		if err != nil {
			t.Fatal(err)
		}
		for _, sign := range []string{"joining the group failed", "generation ended early"} {
			if strings.Contains(printed, sign) {
				t.Errorf("%s says %q: it was expelled\n%s", c.Name, sign, c.Tail(15))
			}
		}
	}
	if r.doubts > 0 {
		t.Errorf("%d doubts, although the member left clean", r.doubts)
	}
}

// eachSite is a visit for each of n sites: four keys of its own each, so large that consumers write a few thousand at once.
func eachSite(seed uint64, n int) []load.Event {
	events, long := make([]load.Event, n), strings.Repeat("x", 400)
	for i := range events {
		events[i] = load.Event{Names: []string{"feature1", "feature2"}, Visit: &models.Visit{
			ID: fmt.Sprintf("s-%x-%d", seed, i), SiteID: fmt.Sprint("site", i), GUID: fmt.Sprint("visitor", i), TS: 1538352000000 + models.Millis(i),
			Features: []string{"referrer" + long, "page" + long},
		}}
	}
	return events
}

// acceptsNothing sees that no request is answered 202 for so long while one replica of three is awake. Since the load may wait for brokers that are not,
// it then sends visits to all partitions: none is answered 202 either.
func (w *world) acceptsNothing(t *testing.T, during time.Duration) {
	t.Helper()
	time.Sleep(2 * time.Second) // for answers under way
	before := w.accepted(t)
	time.Sleep(during)
	if n := w.accepted(t) - before; n > 0 {
		t.Errorf("%d requests were answered 202 while one replica of three was awake", n)
	}
	client := &http.Client{Timeout: 5 * time.Second}
	var all errgroup.Group
	for i := range 48 {
		all.Go(func() error {
			answer, err := client.Post("http://"+w.addr+"/v1/visits", "application/json", strings.NewReader(fmt.Sprintf(`{"siteId":"probe","guid":"probe %d"}`, i)))
			if err != nil {
				return nil //nolint:nilerr // no answer is no 202
			}
			if _ = answer.Body.Close(); answer.StatusCode == http.StatusAccepted {
				return fmt.Errorf("visit %d was answered 202 while one replica of three was awake", i)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

// keeps ends the load and judges: every event that was answered 202 is counted once.
func (w *world) keeps(t *testing.T, r *row, load *traffic, end time.Time, format string, args ...any) {
	t.Helper()
	load.end(t)
	r.note = fmt.Sprintf(format, args...)
	w.equal(t, r, end)
	accepted, refused := 0, int64(0)
	for _, tr := range w.sent {
		refused += tr.result.Busy
		for _, yes := range tr.result.Accepted {
			if yes {
				accepted++
			}
		}
	}
	r.note += fmt.Sprintf("; %d events answered 202, %d of them lost; %d requests refused", accepted, len(w.missing(w.last)), refused)
}

// accepted is how many requests the producer has answered 202.
func (w *world) accepted(t *testing.T) int64 {
	t.Helper()
	address, err := w.producer.Expect(patiently(t), producerAdmin)
	if err != nil {
		t.Fatal(err)
	}
	values, err := process.Metrics(patiently(t), "http://"+address)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for name, v := range values {
		if strings.HasPrefix(name, "footfall_producer_requests_total{") && strings.Contains(name, `code="202"`) {
			sum += v
		}
	}
	return int64(sum)
}

var producerAdmin = regexp.MustCompile(`"listening","addr":"[^"]+","admin":"([^"]+)"`)
