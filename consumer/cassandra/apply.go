package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
	"footfall/internal/cql"
	"footfall/internal/tables"
)

var errNotSent = errors.New("not sent")

// Apply implements store.Store: counter batches of a few keys each. The statements of one key share keyspace and partition key, which
// makes them ONE counter mutation over several tables, applied whole or not at all. Keys are applied independently, but Cassandra reports
// one outcome for all keys of a request.
func (s *Store) Apply(ctx context.Context, writes []store.KeyWrite) []error {
	errs := make([]error, len(writes))
	parts := make([]requestPart, len(writes))
	for i, w := range writes {
		errs[i] = errNotSent
		parts[i] = requestPart{token: keyToken(w.Key), index: int32(i), kind: keyspaceNumber(w.Key.Keyspace), bytes: int32(counterBytes(w))}
	}
	requests := packRequests(parts, 1, func(_, _ requestPart) bool { return false }) // each is a key of its own
	_ = s.each(ctx, len(requests), func(working context.Context, i int) error {
		var err error
		if working.Err() == nil {
			// ctx, not working: a failed request must not cancel the others, or their outcome would be unknown too.
			err = s.applyTogether(ctx, writes, requests[i], errs)
		}
		if errors.Is(err, store.ErrUnknownOutcome) || errors.Is(err, store.ErrFenced) {
			return err // start no more: the caller reads the ledger anyway, and a node that hangs costs time
		}
		return nil
	})
	return errs
}

// applyTogether sends some of the writes as one request and sets the error of each. It returns the last of those errors, which is the worst.
func (s *Store) applyTogether(ctx context.Context, writes []store.KeyWrite, together []requestPart, errs []error) (worst error) {
	if err := store.CheckFence(ctx); err != nil {
		for _, part := range together {
			errs[part.index] = err
		}
		return err
	}
	batch := s.newBatch(ctx, kindCounters, gocql.CounterBatch)
	for _, part := range together {
		s.add(batch, writes[part.index])
	}
	err := s.session.ExecuteBatch(batch)
	if len(together) > 1 && cql.RefusedAs(err, gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeInvalid) {
		// One key was refused, or the batch is too large for this server's settings. Nothing was applied: send each key alone.
		for i := range together {
			worst = s.applyTogether(ctx, writes, together[i:i+1], errs)
			if errors.Is(worst, store.ErrUnknownOutcome) || errors.Is(worst, store.ErrFenced) {
				break
			}
		}
		return worst
	}
	for _, part := range together {
		errs[part.index] = outcome(err, len(together))
	}
	return outcome(err, len(together))
}

// counterBytes is about the size that Cassandra counts for a write: each cell with its clustering, timestamps and the counter's shard.
func counterBytes(w store.KeyWrite) int {
	const perCell, perLedger = 80, 180
	n := perCell*len(w.Cells) + perLedger*len(w.Ledger)
	for cell := range w.Cells {
		n += len(cell.Label)
	}
	return n
}

// add appends the statements of one key to a batch. They share the key's values and one slice for all values.
func (s *Store) add(batch *gocql.Batch, w store.KeyWrite) {
	const most = 6 // values of a statement beside the key: those of a ledger row
	key := keyArgs(w.Key)
	args := make([]any, 0, (len(w.Cells)+len(w.Ledger))*(len(key)+most))
	batch.Entries = slices.Grow(batch.Entries, len(w.Cells)+len(w.Ledger))
	for cell, delta := range w.Cells {
		begin, counter := len(args), s.cql.counter[cell.Counter]
		args = tables.AppendCell(append(append(args, delta), key...), counter.rows, cell, tables.Moment)
		batch.Query(counter.add, args[begin:len(args):len(args)]...)
	}
	for _, row := range w.Ledger {
		begin, statement := len(args), s.cql.extend[w.Key.Keyspace]
		if row.From != 0 { // a counter costs Cassandra a read, also if nothing is added to it
			args, statement = append(args, row.From), s.cql.ledger[w.Key.Keyspace]
		}
		args = append(append(args, row.To), key...)
		args = append(args, row.Partition.Topic, row.Partition.Number, row.Kind, row.Epoch)
		batch.Query(statement, args[begin:len(args):len(args)]...)
	}
}

// outcome returns what is known about the counter writes of one request that ended with err. Only if Cassandra or the driver refused before
// anything was done, nothing was applied. After any other error the writes may have been applied, or may be later: store.ErrUnknownOutcome. With
// several keys that is true of Unavailable too: it may be about one key while others were applied.
func outcome(err error, keys int) error {
	if err == nil || certain(err) && (keys == 1 || !cql.RefusedAs(err, gocql.ErrCodeUnavailable)) {
		return markDisconnected(err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnknownOutcome, err)
}

// markDisconnected wraps errors of the connection as store.ErrDisconnected.
func markDisconnected(err error) error {
	var network *net.OpError
	for _, lost := range []error{gocql.ErrNoConnections, gocql.ErrConnectionClosed, gocql.ErrTimeoutNoResponse, io.EOF} {
		if errors.Is(err, lost) {
			return fmt.Errorf("%w: %w", store.ErrDisconnected, err)
		}
	}
	if errors.As(err, &network) {
		return fmt.Errorf("%w: %w", store.ErrDisconnected, err)
	}
	return err
}

// certain tells whether an error says that nothing was applied.
func certain(err error) bool {
	if errors.Is(err, gocql.ErrNoConnections) || errors.Is(err, gocql.ErrNoStreams) || errors.Is(err, gocql.ErrSessionClosed) ||
		errors.Is(err, gocql.ErrTooManyStmts) {
		return true
	}
	return cql.RefusedAs(err, gocql.ErrCodeUnavailable, gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeInvalid)
}
