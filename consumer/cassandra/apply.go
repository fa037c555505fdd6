package cassandra

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/gocql/gocql"

	"footfall/consumer/rollup"
)

var errNotSent = errors.New("not sent")

// Apply implements rollup.Store: a counter batch per key. Its statements share keyspace and partition key, which makes it
// ONE counter mutation over several tables: applied whole or not at all.
func (s *Store) Apply(ctx context.Context, writes []rollup.KeyWrite) []error {
	errs := make([]error, len(writes))
	for i := range errs {
		errs[i] = errNotSent
	}
	_ = s.each(ctx, len(writes), func(working context.Context, i int) error {
		if working.Err() == nil {
			// One key's failure must not cancel the others' writes: that would put them in doubt as well.
			errs[i] = outcome(s.session.ExecuteBatch(s.batch(ctx, writes[i])))
		}
		if errors.Is(errs[i], rollup.ErrUnknownOutcome) {
			return errs[i] // but no more are begun: all will be decided by the ledger, and a node that hangs costs time
		}
		return nil
	})
	return errs
}

func (s *Store) batch(ctx context.Context, w rollup.KeyWrite) *gocql.Batch {
	batch := s.session.NewBatch(gocql.CounterBatch).WithContext(ctx)
	key := keyArgs(w.Key)
	add := func(cql string, head []any, tail ...any) {
		batch.Query(cql, append(append(head, key...), tail...)...)
	}
	for cell, delta := range w.Cells {
		add(s.cql.counter[cell.Counter], []any{delta}, cellArgs(cell)...)
	}
	for _, row := range w.Ledger {
		add(s.cql.ledger[w.Key.Keyspace], []any{row.From, row.To},
			row.Partition.Topic, row.Partition.Number, row.Kind, row.Epoch)
	}
	return batch
}

// outcome tells what is known about a counter write of one key that ended with err. Only what Cassandra or the driver
// refuses before anything is done is certain; anything else may have been applied or may be later.
func outcome(err error) error {
	if err == nil || certain(err) {
		return told(err)
	}
	return fmt.Errorf("%w: %w", rollup.ErrUnknownOutcome, err)
}

// told marks the failure of a connection as such.
func told(err error) error {
	var network *net.OpError
	for _, lost := range []error{gocql.ErrNoConnections, gocql.ErrConnectionClosed, gocql.ErrTimeoutNoResponse, io.EOF} {
		if errors.Is(err, lost) {
			return fmt.Errorf("%w: %w", rollup.ErrDisconnected, err)
		}
	}
	if errors.As(err, &network) {
		return fmt.Errorf("%w: %w", rollup.ErrDisconnected, err)
	}
	return err
}

func certain(err error) bool {
	if errors.Is(err, gocql.ErrNoConnections) || errors.Is(err, gocql.ErrNoStreams) || errors.Is(err, gocql.ErrSessionClosed) {
		return true
	}
	var refused gocql.RequestError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Code() {
	case gocql.ErrCodeUnavailable, gocql.ErrCodeSyntax, gocql.ErrCodeUnauthorized, gocql.ErrCodeInvalid:
		return true
	}
	return false
}
