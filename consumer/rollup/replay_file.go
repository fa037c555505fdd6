package rollup

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/store"
	"footfall/models"
)

// VisitsFile is a file of visits that stands for a partition of the log: a visit's place in it is its offset.
type VisitsFile struct {
	Name  string
	Site  string // if it was named beside the file
	Lines int64
	Sum   string // SHA-256 of its bytes
	// Read hands on the visits in order, until one call returns an error.
	Read func(each func(*models.Visit) error) error
}

// fileTopic begins the names of the topics that files stand for: Kafka's have no colon.
const fileTopic = "file:"

// source says what a second set of tables is counted from.
func (f VisitsFile) source() string {
	if f.Site != "" {
		return fmt.Sprintf("file %s of site %s with SHA-256 %s", f.Name, f.Site, f.Sum)
	}
	return fmt.Sprintf("file %s with SHA-256 %s", f.Name, f.Sum)
}

// RunFile counts a file of visits into store, as if it were a topic of one partition. Run again, it goes on where it was.
func RunFile(ctx context.Context, cfg configs.Consumer, store store.WalkStore, file VisitsFile, log *slog.Logger, report func(string, ...any)) error {
	c, err := New(cfg, store, prometheus.NewRegistry(), log)
	if err != nil {
		return err
	}
	defer func() { _ = c.dead.close() }()
	p := models.Partition{Topic: fileTopic + file.Name}
	if err := onlyFrom(ctx, store, file.source(), func(topic string) bool { return topic == p.Topic }, report); err != nil {
		return err
	}
	o := &ownership{
		store: store, owner: c.owner, hasher: c.hasher, visitors: c.visitors, ledger: c.ledger, dead: unburied{}, metrics: c.metrics,
		log: log, maxSpan: maxChunkSpan, splitAbove: splitAbove, number: freshNumber,
		partitions: map[models.Partition]*owned{p: {highWater: file.Lines}},
		ended:      func() bool { return ctx.Err() != nil },
		bounds: func(context.Context, []models.Partition) (map[models.Partition]span, error) {
			return map[models.Partition]span{p: {0, file.Lines}}, nil
		},
	}
	if err := o.take(ctx); err != nil {
		return err
	}
	own := o.partitions[p]
	if !own.tenure.Fresh && store.WriteTimeout() > 0 {
		return errors.New("an earlier run was killed while it wrote, and a file cannot settle what became of that: drop these tables and" +
			" run it again")
	}
	own.next, own.window = own.tenure.Committed, newWindow(reach{}, own.tenure.Committed)
	err = o.countFile(ctx, p, file, min(c.cfg.Chunk.MaxEvents, maxChunkSpan), newPace(report))
	if err == nil || ctx.Err() != nil { // interrupted between two chunks it leaves clean as well
		err = errors.Join(err, o.release(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return err
	}
	doubts, err := store.Doubts(ctx, p)
	if err != nil || len(doubts) == 0 {
		return err
	}
	return fmt.Errorf("%d writes were of unknown outcome, and a file cannot settle that: drop these tables and run it again", len(doubts))
}

// onlyFrom refuses to count from a source into tables that are counted from another: what one of them has counted would be
// skipped, or counted twice.
func onlyFrom(ctx context.Context, db store.WalkStore, source string, own func(topic string) bool, report func(string, ...any)) error {
	w := walker{keyspaces: keyspaces, parts: walkParts, atOnce: walkAtOnce, what: "keys", report: report}
	_, err := w.walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		return true, db.Keys(ctx, part, func(batch []store.KeyLedger) error {
			read(len(batch))
			for _, k := range batch {
				for _, row := range k.Rows {
					if !own(row.Partition.Topic) {
						return fmt.Errorf("these tables hold counts from %s, not only from %s: use another suffix", row.Partition.Topic, source)
					}
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	recorded, err := db.Setting(ctx, "rebuilt from", source)
	if err == nil && recorded != source {
		err = fmt.Errorf("these tables are counted from %s, not from %s: use another suffix", recorded, source)
	}
	return err
}

func (o *ownership) countFile(ctx context.Context, p models.Partition, file VisitsFile, most int, pace *pace) error {
	working := context.WithoutCancel(ctx) // what is begun is finished, or it would be in doubt
	noGroup := func(context.Context, map[models.Partition]place) error { return nil }
	c, offset, start := newChunk(), int64(0), o.partitions[p].next
	err := file.Read(func(v *models.Visit) error {
		if offset++; offset <= start {
			return nil
		}
		o.add(c, item{partition: p, offset: offset - 1, event: v, highWater: file.Lines})
		if len(c.events) < most {
			return nil
		}
		full := c
		c = newChunk()
		if err := o.countChunk(working, full, noGroup); err != nil {
			return err
		}
		pace.tell(file.Lines - offset)
		return ctx.Err()
	})
	if err == nil && len(c.spans) > 0 {
		err = o.countChunk(working, c, noGroup)
	}
	return err
}

// RunCompareSites compares all counters of the sites that fresh has with those of live, whatever they were counted from. Nobody
// should count meanwhile.
func RunCompareSites(ctx context.Context, fresh, live store.CompareStore, report func(string, ...any)) (found Comparison, err error) {
	c := &comparer{live: side{store: live}, fresh: side{store: fresh}, parts: walkParts, report: report}
	only := []models.Keyspace{models.Cardinality}
	var mu sync.Mutex
	sites := map[string]bool{}
	w := walker{keyspaces: only, parts: walkParts, atOnce: walkAtOnce, what: "keys", report: report}
	_, err = w.walk(ctx, func(ctx context.Context, part store.Part, read func(int)) (bool, error) {
		return true, fresh.Keys(ctx, part, func(batch []store.KeyLedger) error {
			read(len(batch))
			mu.Lock()
			defer mu.Unlock()
			for _, k := range batch {
				sites[k.Key.Name] = true
			}
			return nil
		})
	})
	if err != nil {
		return found, err
	}
	err = c.all(ctx, only, func(key models.Key) bool { return sites[key.Name] })
	c.found.Busy += len(c.busy)
	return c.found, err
}
