package store

import (
	"math/rand/v2"
	"time"
)

// EpochBits is how many bits of an epoch are random. Above them is its number, which grows.
const EpochBits = 31

// NextEpoch is the epoch that follows last, which is 0 where there was none; every store hands out these. Its number makes it
// greater than last. Its random bits make it nobody else's: transactions keep two owners from taking the same number, and should one
// ever misbehave, each owner has ledger rows of its own, which overlap and are repaired. Two owners under one epoch would add to the
// same rows, and nobody could tell. The number of all but the first is at least the time in seconds, so that epochs of several
// partitions can be compared; nothing but speed depends on that.
func NextEpoch(last int64, now time.Time) int64 {
	number := int64(1)
	if last > 0 {
		number = max(EpochNumber(last)+1, now.Unix())
	}
	return number<<EpochBits | rand.Int64N(1<<EpochBits)
}

// EpochNumber is an epoch without its random bits. Epochs of earlier versions, which are small, have none.
func EpochNumber(epoch int64) int64 {
	if epoch < 1<<EpochBits {
		return epoch
	}
	return epoch >> EpochBits
}

// IsFirstEpoch tells that a partition had no other epoch before.
func IsFirstEpoch(epoch int64) bool { return EpochNumber(epoch) == 1 }
