package rollup

import (
	"errors"
	"testing"
	"testing/synctest"

	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// No counter is written before the store has the names of its key, however often listing them fails; and they are listed once.
func TestNamesComeBeforeCounters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		name := models.Name{List: models.LinksByDay, Start: models.Earliest.Day(), Value: abc.Name}
		m.OnApply = func(store.KeyWrite) memstore.Fault {
			if !m.Names[name] {
				t.Error("a counter is written before the name is listed")
			}
			return memstore.Fault{}
		}
		calls := 0
		m.OnNames = func([]models.Name) error {
			if calls++; calls < 4 {
				return errors.New("timeout")
			}
			return nil
		}
		ahead := chunkOf(o, p0, "a", "b")
		o.lookAhead(t.Context(), ahead) // fails
		flush(t, o, ahead)
		wantCounts(t, m, 2, 2)
		flush(t, o, chunkOf(o, p0, "c"))
		wantCounts(t, m, 3, 3)
		if calls != 4 {
			t.Errorf("names were sent %d times, want 4: after the first success they are known", calls)
		}
	})
}

// A store that was restarted may have lost rows: names are listed again, also those of a chunk that was looked at ahead.
func TestNamesAreListedAgainAfterALostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := memstore.New()
		o := newOwner(t, m, 100)
		flush(t, o, chunkOf(o, p0, "a"))
		first := chunkOf(o, p0, "b")
		o.lookAhead(t.Context(), first)
		m.OnApply = func(store.KeyWrite) memstore.Fault {
			m.OnApply = nil
			clear(m.Names)
			return memstore.Fault{Err: store.ErrDisconnected, Lost: true}
		}
		flush(t, o, first)
		if wantCounts(t, m, 2, 2); len(m.Names) != 1 {
			t.Errorf("%d names are listed, want 1", len(m.Names))
		}
	})
}
