package broker

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
)

// A batch begins with its first offset (8 bytes) and the length of the rest (4). At byte 17 is a CRC-32C of all that follows it, at 23 the
// last offset minus the first. All are big-endian.
const batchHeader, leastBatch, mostBatch = 12, 61, 64 << 20

// batch is a record batch, encoded as in a segment.
type batch []byte

func (b batch) first() int64 { return int64(binary.BigEndian.Uint64(b)) } //nolint:gosec // as kfake reads it
func (b batch) end() int64   { return b.first() + int64(binary.BigEndian.Uint32(b[23:])) + 1 }

// eachBatch calls f for each complete batch of a segment and returns how many bytes these take. Bytes after them were half written when
// the process was killed. A batch is valid only during the call.
func eachBatch(path string, each func(batch) error) (whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fmt.Errorf("reading a segment: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
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
