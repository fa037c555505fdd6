package rollup

import (
	"context"
	"slices"
	"time"

	"footfall/consumer/eventlog"
	"footfall/models"
)

// regroup begins a rebalance: the next generation begins when the leaving members have left, after the session timeout at the latest. That is
// stricter than Kafka, which waits while they send heartbeats.
func (w *world) regroup() {
	if w.forming.IsZero() {
		w.forming = time.Now().Add(w.fate.session())
	}
}

// form begins the next generation if it is due.
func (w *world) form(ctx context.Context) {
	leaving := slices.ContainsFunc(w.actors, func(a *actor) bool { return a.leaving.Load() && !a.done.Load() && !a.crashed.Load() })
	if w.forming.IsZero() || leaving && time.Now().Before(w.forming) {
		return
	}
	w.forming = time.Time{}
	w.generation++
	for _, a := range w.actors {
		a.superseded.Store(true)
	}
	if w.refused.Swap(false) {
		w.heed()
	}
	w.fate.regrouped()
	if w.fate.together() {
		w.start(ctx, w.partitions)
		return
	}
	for _, p := range w.partitions {
		w.start(ctx, []models.Partition{p})
	}
}

// setBack sets the group's offset; a negative one: Kafka has deleted it.
func (w *world) setBack(p models.Partition, to int64) {
	if w.committed[p] = (eventlog.GroupOffset{Offset: to}); to < 0 {
		w.out.Expired++
	} else {
		w.out.SetBack++
	}
	w.tell("%v is set back to %d", p, to)
}

// setForward moves the group's offset beyond what is counted. No consumer may go on there.
func (w *world) setForward(p models.Partition, by int64) {
	to := max(0, w.committed[p].Offset) + by
	if to <= w.store.OwnerRows[p].Committed || to > w.written(p) {
		return
	}
	w.committed[p] = eventlog.GroupOffset{Offset: to}
	w.out.SetForward++
	w.tell("%v is set forward to %d", p, to)
}

// heed does what a refusal asks for.
func (w *world) heed() {
	for _, p := range w.partitions {
		if counted := w.store.OwnerRows[p].Committed; w.committed[p].Tables == "" && w.committed[p].Offset > counted {
			w.committed[p] = eventlog.GroupOffset{Offset: counted}
			w.tell("%v is set back to %d, where the tables are", p, counted)
		}
	}
}
