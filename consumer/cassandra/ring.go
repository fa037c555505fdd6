package cassandra

import (
	"fmt"
	"math"
	"time"

	"github.com/gocql/gocql"

	"footfall/consumer/store"
)

// patience retries pages of long reads: a scan of hours must not fail because one page timed out. Writes must never use it.
var patience = &patient{gocql.ExponentialBackoffRetryPolicy{NumRetries: 5, Min: 100 * time.Millisecond, Max: 5 * time.Second}}

type patient struct {
	gocql.ExponentialBackoffRetryPolicy
}

// GetRetryType implements gocql.RetryPolicy: it retries on the same node, since there may be no other.
func (patient) GetRetryType(error) gocql.RetryType { return gocql.Retry }

// tokenRange is a token range of the ring, both ends included.
type tokenRange struct{ First, Last int64 }

// ring is all of it.
var ring = tokenRange{math.MinInt64, math.MaxInt64}

// tokensOf is the token range of a part: all are of equal size. Vnodes do not matter: the coordinator splits a range that spans several.
func tokensOf(p store.Part) tokenRange {
	width := math.MaxUint64 / uint64(p.Of)
	first := uint64(p.Number) * width
	last := first + width - 1
	if p.Number == p.Of-1 {
		last = math.MaxUint64
	}
	return tokenRange{int64(first ^ 1<<63), int64(last ^ 1<<63)}
}

// where is the WHERE clause for a table with that partition key.
func (r tokenRange) where(partitionKey string) string {
	return fmt.Sprintf(` WHERE token(%s) >= %d AND token(%s) <= %d`, partitionKey, r.First, partitionKey, r.Last)
}
