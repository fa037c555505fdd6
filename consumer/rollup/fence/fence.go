// Package fence keeps a process that was paused, and lost its partitions meanwhile, from beginning writes when it wakes up.
package fence

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/kafka/dial"
	"footfall/internal/retry"
	"footfall/models"
)

// Fence lets an owner begin a write if the group, or the store, said not long ago that the partitions are its own. Whoever takes them over can do so a
// session timeout after the last heartbeat at the earliest. So the owner's last writes are begun, at the latest, a write timeout before another session
// timeout is over. Safe for concurrent use.
type Fence struct {
	Store      store.Store
	Owner      string
	Partitions []models.Partition
	Session    time.Duration // the group's session timeout

	mu   sync.Mutex
	seen time.Time // when they were ours, as far as we know
}

// Check returns an error that wraps eventlog.ErrTaken if another owner has taken one of the partitions. It asks the store if the last acknowledged
// heartbeat is older than the session timeout less the store's write timeout.
func (f *Fence) Check(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	// A write timeout as long as the session timeout must not make every write ask.
	if retry.Since(f.seen) < max(f.Session-f.Store.WriteTimeout(), f.Session/3) {
		return nil
	}
	asked := time.Now()
	owners, err := f.Store.Owners(ctx)
	if err != nil {
		return fmt.Errorf("looking who owns the partitions, since the group acknowledged no heartbeat for long: %w", err)
	}
	for _, p := range f.Partitions {
		if !slices.ContainsFunc(owners, func(o store.Owner) bool { return o.Partition == p && o.Name == f.Owner }) {
			return fmt.Errorf("partition %d of %s was %w", p.Number, p.Topic, eventlog.ErrTaken)
		}
	}
	f.seen = asked
	return nil
}

// Beat sends the group a heartbeat every so often until ctx ends, or the group has expelled the member: kafka-go does not tell when its own were
// acknowledged, and sends none while a generation is over and the member's last flush is not.
func (f *Fence) Beat(ctx context.Context, via dial.Kafka, gen *kafka.Generation, every time.Duration) {
	for retry.Sleep(ctx, every) == nil {
		sent := time.Now()
		switch err := heartbeat(ctx, via.Client(f.Session/3), gen); {
		case err == nil:
			f.mu.Lock()
			f.seen = sent
			f.mu.Unlock()
		case errors.Is(err, kafka.UnknownMemberId), errors.Is(err, kafka.IllegalGeneration), errors.Is(err, kafka.FencedInstanceID):
			return // expelled: the next owner doubts what is under way
		}
		// After any other error the next one may be acknowledged. Others may get the partitions when a rebalance is over: that has a time limit of its own.
	}
}

// heartbeat sends a heartbeat to the group's coordinator. It returns nil if that acknowledged it. kafka-go does not look for the coordinator of its own
// accord, and reads the two fields of the answer in the wrong order (#1371): it takes the error for the last two bytes of the throttle time.
func heartbeat(ctx context.Context, client *kafka.Client, gen *kafka.Generation) error {
	found, err := client.FindCoordinator(ctx, &kafka.FindCoordinatorRequest{Key: gen.GroupID})
	if err == nil {
		err = found.Error
	}
	if err != nil {
		return err
	}
	at := kafka.TCP(net.JoinHostPort(found.Coordinator.Host, strconv.Itoa(found.Coordinator.Port)))
	answer, err := client.Heartbeat(ctx, &kafka.HeartbeatRequest{Addr: at, GroupID: gen.GroupID, GenerationID: gen.ID, MemberID: gen.MemberID})
	if err != nil {
		return err
	}
	if code := kafka.Error(int16(answer.Throttle.Milliseconds())); code != 0 {
		return code
	}
	return answer.Error
}
