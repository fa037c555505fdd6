package store

import (
	"math/rand/v2"
	"time"
)

// epochBits is how many bits of an epoch are random. Above them is its number, which grows.
const epochBits = 31

// NextEpoch is the epoch after last, which is 0 if there was none. All stores use it. Its number makes it greater than last. Its random
// bits make it unique. Transactions keep two owners from taking the same number. Should one ever fail to, both still have ledger rows
// of their own, whose overlap is found and repaired. With the same epoch they would add to the same rows, and nobody could tell. The
// number of all but the first epoch is at least the Unix time, so that epochs of different partitions can be compared; only speed
// depends on that.
func NextEpoch(last int64, now time.Time) int64 {
	number := int64(1)
	if last > 0 {
		number = max(EpochNumber(last)+1, now.Unix())
	}
	return number<<epochBits | rand.Int64N(1<<epochBits)
}

// EpochNumber is an epoch without its random bits.
func EpochNumber(epoch int64) int64 { return epoch >> epochBits }

// IsFirstEpoch tells that a partition had no other epoch before.
func IsFirstEpoch(epoch int64) bool { return EpochNumber(epoch) == 1 }
