package stack

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxLog is how large a log may be when its server starts. A larger one is renamed to .old.
const maxLog = 20 << 20

func (p process) rotateLog() error {
	info, err := os.Stat(p.logFile())
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() < maxLog {
		return nil
	}
	if err == nil {
		err = os.Rename(p.logFile(), p.logFile()+".old")
	}
	if err != nil {
		return fmt.Errorf("rotating the log: %w", err)
	}
	return nil
}

// logTail returns the last n lines of the log from offset on, or "" if it cannot be read.
func (p process) logTail(n int, offset int64) string {
	f, err := os.Open(p.logFile())
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }()
	const window = 64 << 10
	if size, err := f.Seek(0, io.SeekEnd); err != nil || size <= offset {
		return ""
	} else if _, err := f.Seek(max(offset, size-window), io.SeekStart); err != nil {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, window))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// logSize is the offset in the log where the next start's output begins.
func (p process) logSize() int64 {
	info, err := os.Stat(p.logFile())
	if err != nil || info.Size() >= maxLog {
		return 0
	}
	return info.Size()
}
