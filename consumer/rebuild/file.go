package rebuild

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"footfall/configs"
	"footfall/consumer/maintenance"
	"footfall/consumer/rollup"
	"footfall/consumer/store"
	"footfall/models"
)

// fileTopic is the prefix of the topic name of a file. Names of Kafka topics have no colon.
const fileTopic = "file:"

// sourceOf names a file as the source of a set of tables.
func sourceOf(f rollup.VisitsFile) string {
	if f.Site != "" {
		return fmt.Sprintf("file %s of site %s with SHA-256 %s", f.Name, f.Site, f.Sum)
	}
	return fmt.Sprintf("file %s with SHA-256 %s", f.Name, f.Sum)
}

// RunFile counts a file of visits into store, as if it were a topic of one partition. A second run continues where the first stopped. It
// returns an error if the tables were counted from anything else.
func RunFile(ctx context.Context, cfg configs.Consumer, store store.WalkStore, file rollup.VisitsFile, log *slog.Logger, report maintenance.Reporter) error {
	p := models.Partition{Topic: fileTopic + file.Name}
	if err := onlyFrom(ctx, store, sourceOf(file), func(topic string) bool { return topic == p.Topic }, report); err != nil {
		return err
	}
	return rollup.CountFile(ctx, cfg, store, p, file, log, newPace(report).tell)
}

// onlyFrom returns an error if tables were counted from another source: events would be skipped, or counted twice. own tells whether a
// topic belongs to the source.
func onlyFrom(ctx context.Context, db store.WalkStore, source string, own func(topic string) bool, report maintenance.Reporter) error {
	err := maintenance.EachKey(ctx, db, maintenance.Keyspaces, report, func(batch []store.KeyLedger) error {
		for _, k := range batch {
			for _, row := range k.Rows {
				if !own(row.Partition.Topic) {
					return fmt.Errorf("these tables hold counts from %s, not only from %s: use another --keyspace-suffix", row.Partition.Topic, source)
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	recorded, err := db.Setting(ctx, "rebuilt from", source)
	if err == nil && recorded != source {
		err = fmt.Errorf("these tables are counted from %s, not from %s: use another --keyspace-suffix", recorded, source)
	}
	return err
}

// RunCompareSites compares all counters of fresh's sites with those of live, whatever they were counted from. Consumers should be stopped:
// it does not compare keys that are written to meanwhile.
func RunCompareSites(ctx context.Context, fresh, live store.CompareStore, report maintenance.Reporter) (found maintenance.Comparison, err error) {
	c := &maintenance.Comparer{Live: maintenance.Side{Store: live}, Fresh: maintenance.Side{Store: fresh}, Parts: maintenance.WalkParts, Report: report}
	only := []models.Keyspace{models.Cardinality}
	var mu sync.Mutex
	sites := map[string]bool{}
	err = maintenance.EachKey(ctx, fresh, only, report, func(batch []store.KeyLedger) error {
		mu.Lock()
		defer mu.Unlock()
		for _, k := range batch {
			sites[k.Key.Name] = true
		}
		return nil
	})
	if err != nil {
		return found, err
	}
	err = c.All(ctx, only, func(key models.Key) bool { return sites[key.Name] })
	c.Found.Busy += len(c.Busy)
	return c.Found, err
}
