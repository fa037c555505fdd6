package rollup

import (
	"context"
	"errors"
	"time"

	"footfall/consumer/maintenance"
	"footfall/consumer/store"
	"footfall/internal/retry"
	"footfall/models"
	"footfall/models/modelstest"
)

// startRetire begins to retire March, while everything else goes on and the log still grows. It is run again until it succeeds, and
// removes nothing while a process is paused.
func (w *world) startRetire(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	a := &actor{Memory: w.store, w: w, id: len(w.actors), audit: true, cancel: cancel, turns: map[string]chan bool{}}
	w.actors = append(w.actors, a)
	db := &view{actor: a, who: retiring}
	r := &maintenance.Retirer{
		Store: db, Topic: "visits", Sources: w.sources, Parts: 1, Report: func(format string, args ...any) { w.tell("retire: "+format, args...) },
		Ends: func(context.Context) (map[int]int64, error) {
			if !a.wait(retiring) {
				return nil, errDead
			}
			ends := map[int]int64{}
			for _, p := range w.partitions {
				if p.Topic == "visits" {
					ends[p.Number] = w.written(p)
				}
			}
			w.tell("retire: from %v on", ends)
			w.write(6) // just too late
			return ends, nil
		},
		Group: func(context.Context, string) (maintenance.Counting, error) {
			if !a.wait(retiring) {
				return maintenance.Counting{}, errDead
			}
			to := map[int]int64{}
			for p, at := range w.committed {
				if p.Topic == "visits" {
					to[p.Number] = w.store.OwnerRows[p].Committed
					if at.Tables == simTables {
						to[p.Number] = max(to[p.Number], at.Offset)
					}
				}
			}
			return maintenance.Counting{Members: 1, To: to}, nil
		},
		Audit: func(ctx context.Context, walk string) (maintenance.Audit, error) {
			if !a.wait(retiring) {
				return maintenance.Audit{}, errDead
			}
			if w.awaited(false) {
				return maintenance.Audit{}, errors.New("a process is paused")
			}
			return maintenance.NewAuditor(w.checker(db, db.fresh), db, 1, 1).Run(ctx, maintenance.AuditOptions{Only: []models.Keyspace{models.Cardinality}, Walk: walk, Resume: true}, func(line string) { w.tell("retire: %s", line) })
		},
	}
	if r.Margin = store.NoticeMargin; w.controls.hasty {
		r.Margin = 0
	}
	go func() {
		for {
			err := r.Run(ctx, modelstest.April, time.Hour)
			w.tell("retire ends: %v", err)
			if err == nil || retry.Sleep(ctx, 10*time.Second) != nil {
				break
			}
		}
		a.done.Store(true)
		cancel()
	}()
}
