package main

import (
	"context"
	"fmt"

	"footfall/embedded/broker"
	"footfall/embedded/sqlite"
)

// sameLog refuses a store and a log that do not belong together. The store's ledger speaks of offsets: on another log, or
// on this one with its tail gone, new events would get offsets that count as counted, and be skipped in silence. Neither
// kill -9 nor a power cut does that (the log is synced first), but a file restored or deleted by hand may.
func sameLog(ctx context.Context, store *sqlite.Store, log *broker.Broker, topics []string) error {
	const remedy = "put back the data.dir as it was, all of it; or move it away and start from nothing"
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
		return fmt.Errorf("the log has events, but the counts of them are gone: %s", remedy)
	case known == "":
		return store.SetLogID(ctx, log.ID())
	case known != log.ID():
		return fmt.Errorf("the counts are of another log than the one in broker/: %s", remedy)
	}
	for p, counted := range reached {
		if counted > ends[p] {
			return fmt.Errorf("partition %d of topic %s ends at offset %d, but is counted up to %d: the log has lost its end: %s",
				p.Number, p.Topic, ends[p], counted, remedy)
		}
	}
	return nil
}
