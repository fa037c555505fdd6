package cql

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"time"
)

// Token is the token of a partition key, by Murmur3Partitioner. Neighbours on the ring have the same replicas, except at the edge of a range,
// so one node can serve a request with the keys of neighbours.
func Token(key []byte) int64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	var h1, h2 uint64
	length := len(key)
	for ; len(key) >= 16; key = key[16:] {
		h1 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(key)*c1, 31) * c2
		h1 = (bits.RotateLeft64(h1, 27)+h2)*5 + 0x52dce729
		h2 ^= bits.RotateLeft64(binary.LittleEndian.Uint64(key[8:])*c2, 33) * c1
		h2 = (bits.RotateLeft64(h2, 31)+h1)*5 + 0x38495ab5
	}
	var k1, k2 uint64
	for i := len(key) - 1; i >= 8; i-- {
		k2 ^= uint64(int64(int8(key[i]))) << (8 * (i - 8)) // signed, as in Cassandra: plain Murmur3 has unsigned bytes here
	}
	for i := min(len(key), 8) - 1; i >= 0; i-- {
		k1 ^= uint64(int64(int8(key[i]))) << (8 * i)
	}
	if len(key) > 8 {
		h2 ^= bits.RotateLeft64(k2*c2, 33) * c1
	}
	if len(key) > 0 {
		h1 ^= bits.RotateLeft64(k1*c1, 31) * c2
	}
	h1 ^= uint64(length)
	h2 ^= uint64(length)
	h1 += h2
	h2 += h1
	return int64(mixed(h1) + mixed(h2)) // the first half of the hash
}

func mixed(k uint64) uint64 {
	k ^= k >> 33
	k *= 0xff51afd7ed558ccd
	k ^= k >> 33
	k *= 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

// AppendColumn appends a column of a composite partition key: its length, the value, and a zero byte.
func AppendColumn(to []byte, value string) []byte {
	to = binary.BigEndian.AppendUint16(to, uint16(len(value)))
	return append(append(to, value...), 0)
}

// AppendMillis does the same for a timestamp, in milliseconds since 1970.
func AppendMillis(to []byte, millis int64) []byte {
	to = append(to, 0, 8)
	return append(binary.BigEndian.AppendUint64(to, uint64(millis)), 0)
}

// AppendKey appends a partition key as CQL has it on the wire. Values are texts and moments.
func AppendKey(to []byte, values ...any) []byte {
	begin := len(to)
	for _, value := range values {
		switch value := value.(type) {
		case string:
			to = AppendColumn(to, value)
		case time.Time:
			to = AppendMillis(to, value.UnixMilli())
		default:
			panic(fmt.Sprintf("no part of a partition key: %T", value))
		}
	}
	if len(values) == 1 { // a single column is its bytes alone
		copy(to[begin:], to[begin+2:])
		return to[:len(to)-3]
	}
	return to
}
