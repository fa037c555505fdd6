package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
)

// truncateTornTail cuts an incomplete last entry off one of kfake's append-only files. An entry is its length and the CRC-32C of its
// content, 4 bytes little-endian each, and the content.
func truncateTornTail(path string, log *slog.Logger) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking the group offsets: %w", err)
	}
	whole := wholeEntries(data)
	if whole == len(data) {
		return nil
	}
	log.Warn("cutting off group offsets that were half written when the process was killed; some events are read again, none is counted twice",
		"file", path, "bytes", len(data)-whole)
	if err := os.Truncate(path, int64(whole)); err != nil {
		return fmt.Errorf("cutting off torn group offsets: %w", err)
	}
	return nil
}

// wholeEntries is the length of the complete entries at the beginning of data.
func wholeEntries(data []byte) int {
	const header = 8
	castagnoli := crc32.MakeTable(crc32.Castagnoli)
	at := 0
	for at+header <= len(data) {
		length := int64(binary.LittleEndian.Uint32(data[at:]))
		sum := binary.LittleEndian.Uint32(data[at+4:])
		end := int64(at) + header + length
		if length < 2 || end > int64(len(data)) || crc32.Checksum(data[at+header:end], castagnoli) != sum {
			break
		}
		at = int(end)
	}
	return at
}
