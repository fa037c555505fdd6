package eventlog

import "hash/maphash"

// Fingerprint stands for a longer value in memory: 128 bits from two keyed hashes. Two values share one with a
// probability of 2^-128, and nobody who does not know this process's seeds can make it happen on purpose.
type Fingerprint [2]uint64

// Hasher makes fingerprints. They mean nothing to another process.
type Hasher [2]maphash.Seed

// NewHasher makes one with seeds of its own.
func NewHasher() Hasher { return Hasher{maphash.MakeSeed(), maphash.MakeSeed()} }

// FingerprintOf is the fingerprint of a value. It allocates nothing.
func FingerprintOf[T comparable](h Hasher, value T) Fingerprint {
	return Fingerprint{maphash.Comparable(h[0], value), maphash.Comparable(h[1], value)}
}
