package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"time"
)

// A batch begins with its first offset (8 bytes) and the length of what follows (4). Further on are a CRC-32C of all after it, at 17,
// the difference of its last offset, at 23, and its latest time in Unix milliseconds, at 35. All are big-endian.
const batchHeader, leastBatch, mostBatch = 12, 61, 64 << 20

// batch is a record batch as it is in a segment.
type batch []byte

func (b batch) first() int64    { return int64(binary.BigEndian.Uint64(b)) } //nolint:gosec // as kfake reads it
func (b batch) end() int64      { return b.first() + int64(binary.BigEndian.Uint32(b[23:])) + 1 }
func (b batch) last() time.Time { return time.UnixMilli(int64(binary.BigEndian.Uint64(b[35:]))) } //nolint:gosec // as kfake reads it

// eachBatch hands on the whole batches at the beginning of a segment, and returns how many bytes they take. What follows them, if
// anything, was half written when the process was killed. A batch is valid during the call only.
func eachBatch(path string, each func(batch) error) (whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("reading a segment: %w", err)
	}
	defer func() { _ = f.Close() }() // it was read only
	r := bufio.NewReaderSize(f, 1<<18)
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	var b batch
	for {
		header, err := r.Peek(batchHeader)
		if errors.Is(err, io.EOF) {
			return whole, nil
		}
		if err != nil {
			return whole, fmt.Errorf("reading a segment: %w", err)
		}
		size := batchHeader + int(binary.BigEndian.Uint32(header[8:]))
		if size < leastBatch || size > mostBatch {
			return whole, nil
		}
		if cap(b) < size {
			b = make(batch, size)
		}
		b = b[:size]
		_, err = io.ReadFull(r, b)
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return whole, nil
		}
		if err != nil {
			return whole, fmt.Errorf("reading a segment: %w", err)
		}
		if crc32.Checksum(b[21:], castagnoli) != binary.BigEndian.Uint32(b[17:]) {
			return whole, nil
		}
		if err := each(b); err != nil {
			return whole, err
		}
		whole += int64(size)
	}
}
