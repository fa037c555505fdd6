package names

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

type keys = map[models.Key]map[models.Cell]int64

func links(from, to int) iter.Seq2[models.Key, map[models.Cell]int64] {
	all := keys{}
	for i := from; i < to; i++ {
		all[models.Key{Keyspace: models.URLShortener, Name: fmt.Sprint(i)}] = map[models.Cell]int64{{Counter: models.DayCounters, At: models.Earliest.Day()}: 1}
	}
	return maps.All(all)
}

// world is a lister, and how many names it has sent.
type world struct {
	*Lister
	m    *memstore.Memory
	sent int
}

func newWorld(size int) *world {
	w := &world{m: memstore.New()}
	w.m.OnNames = func(names []models.Name) error { w.sent += len(names); return nil }
	w.Lister = New(w.m, models.DefaultPlan(), eventlog.NewHasher(), size)
	return w
}

func (w *world) want(t *testing.T, list iter.Seq2[models.Key, map[models.Cell]int64], sent int) {
	t.Helper()
	w.sent = 0
	if err := w.List(t.Context(), list); err != nil || w.sent != sent {
		t.Errorf("%d names were sent, %v; want %d", w.sent, err, sent)
	}
}

// What is listed is not sent again, until it is forgotten: after a Drop, or since there is no room.
func TestNamesAreSentOnce(t *testing.T) {
	w := newWorld(10)
	w.want(t, links(0, 6), 6)
	w.want(t, links(0, 6), 0)
	w.want(t, links(3, 9), 3)
	w.Drop()
	w.want(t, links(0, 9), 9)
	w.want(t, links(100, 1100), 1000)
	w.want(t, links(0, 9), 9)
	if len(w.m.Names) != 1009 {
		t.Errorf("%d names are listed, want 1009", len(w.m.Names))
	}
	if n := newWorld(-1); n.List(t.Context(), links(0, 5)) != nil || len(n.m.Names) != 5 {
		t.Error("without room for names they are not listed")
	}
}

// A name whose listing failed is not taken for listed, nor one that was acknowledged before the store forgot it.
func TestOnlyAcknowledgedNamesAreRemembered(t *testing.T) {
	w := newWorld(100)
	broken := errors.New("broken")
	sends := w.m.OnNames
	w.m.OnNames = func([]models.Name) error { return broken }
	if err := w.List(t.Context(), links(0, 3)); !errors.Is(err, broken) {
		t.Errorf("listing into a broken store: %v", err)
	}
	w.m.OnNames = sends
	w.want(t, links(0, 3), 3)

	w.m.OnNames = func([]models.Name) error { w.Drop(); return nil } // while they are on the way
	if err := w.List(t.Context(), links(10, 13)); err != nil {
		t.Error(err)
	}
	w.m.OnNames = sends
	w.want(t, links(10, 13), 3)
}
