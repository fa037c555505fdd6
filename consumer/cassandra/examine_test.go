package cassandra

import (
	"testing"
	"time"

	"footfall/consumer/store"
	"footfall/models"
)

// What a doctor asks of a node, by a clock that is a minute slow.
func testExamine(t *testing.T, s *Store) {
	nodes, err := s.Examine(t.Context(), "", func() time.Time { return time.Now().Add(-time.Minute) })
	if err != nil || len(nodes) != 1 {
		t.Fatal(nodes, err)
	}
	n := nodes[0]
	if n.Err != nil || n.DataCentre == "" || n.Release == "" || !n.Durable() || n.MiB < 0 || n.Settings["partition_size_warn_threshold"] == "" {
		t.Errorf("%+v", n)
	}
	if off := n.Ahead - time.Minute; off.Abs() > n.Within+50*time.Millisecond { // it has whole milliseconds, on the same machine
		t.Errorf("its clock is %v ahead of one that is a minute slow, give or take %v", n.Ahead, n.Within)
	}
	if nodes, err = s.Examine(t.Context(), "elsewhere", time.Now); len(nodes) > 0 || err != nil {
		t.Errorf("nodes of another data centre: %+v, %v", nodes, err)
	}
	if now, err := s.Replication(t.Context()); err != nil || now.Several() {
		t.Errorf("%s, %v", now, err)
	}
}

// Only one holder has a link at a time, until it gives it back or its time is over.
func testLinks(t *testing.T, s *Store) {
	lease := func(want bool, holder string, ttl time.Duration) {
		t.Helper()
		if ok, err := s.TakeLink(t.Context(), "x", holder, ttl); ok != want || err != nil {
			t.Errorf("%s: %v, %v", holder, ok, err)
		}
	}
	end := func(holder string) {
		t.Helper()
		if err := s.ReturnLink(t.Context(), "x", holder); err != nil {
			t.Error(err)
		}
	}
	lease(true, "a", time.Hour)
	lease(false, "b", time.Hour)
	end("b") // it is not b's
	lease(false, "b", time.Hour)
	end("a")
	lease(true, "b", time.Second)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		if ok, err := s.TakeLink(t.Context(), "x", "c", time.Hour); err != nil || time.Now().After(deadline) {
			t.Fatal("a lease does not end", err)
		} else if ok {
			break
		}
	}
	end("c")
}

func testBotClicks(t *testing.T, s *Store) {
	const link = "footfall.canary.x"
	if n, err := s.BotClicks(t.Context(), link); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	key := models.Key{Keyspace: models.URLShortener, Name: link}
	if err := s.Apply(t.Context(), []store.KeyWrite{{Key: key, Cells: map[models.Cell]int64{{Counter: models.BotCounter}: 3}}})[0]; err != nil {
		t.Fatal(err)
	}
	if n, err := s.BotClicks(t.Context(), link); n != 3 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
