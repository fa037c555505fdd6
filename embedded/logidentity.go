package main

import (
	"context"
	"fmt"

	"footfall/embedded/broker"
	"footfall/embedded/sqlite"
)

// checkLogIdentity refuses a store and a log that do not belong together. The store's ledger holds offsets: on another log, or on this
// one without its end, new events would get offsets that are already counted, and be skipped silently. Neither kill -9 nor a power cut
// causes that, since the log is synced first, but restoring or deleting a file by hand may.
func checkLogIdentity(ctx context.Context, store *sqlite.Store, log *broker.Broker, topics []string) error {
	const remedy = "restore the whole data.dir from one backup, or move it away and start empty"
	known, err := store.LogID(ctx)
	if err != nil {
		return err
	}
	reached, err := store.Ends(ctx)
	if err != nil {
		return err
	}
	for p := range reached {
		topics = append(topics, p.Topic)
	}
	ends := log.Ends(topics...)
	used := false
	for _, end := range ends {
		used = used || end > 0
	}
	switch {
	case known == "" && used:
		return fmt.Errorf("the log has events, but their counts are gone: %s", remedy)
	case known == "":
		return store.SetLogID(ctx, log.ID())
	case known != log.ID():
		return fmt.Errorf("the counts belong to another log than the one in broker/: %s", remedy)
	}
	for p, counted := range reached {
		if counted > ends[p] {
			return fmt.Errorf("partition %d of topic %s ends at offset %d, but is counted up to %d: the log has lost its end: %s",
				p.Number, p.Topic, ends[p], counted, remedy)
		}
	}
	return nil
}
