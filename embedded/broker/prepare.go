package broker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"
)

// prepare makes a log ready for kfake, which must not run: it trims the log and writes missing snapshots, so that kfake reads the segments one
// after the other. After a crash in between the next start does it again.
func prepare(ctx context.Context, dir string, keep Retention, log *slog.Logger) error {
	id, err := identity(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing there yet
	}
	if err != nil {
		return err
	}
	found, err := partitions(dir)
	if err != nil {
		return err
	}
	for _, p := range found { // before trimming: a last segment without a complete batch must not pass for the one that is kept
		if err := cutTorn(p, log); err != nil {
			return err
		}
	}
	if err := trim(ctx, dir, id, keep); err != nil {
		return err
	}
	if found, err = partitions(dir); err != nil {
		return err
	}
	for _, p := range found {
		if err := snapshot(p); err != nil {
			return err
		}
	}
	return nil
}

// cutTorn cuts off records at the end of a partition that were half written when the process was killed.
func cutTorn(p partition, log *slog.Logger) error {
	for i := len(p.segments) - 1; i >= 0; i-- {
		s := p.segments[i]
		whole, err := eachBatch(s.path, func(batch) error { return nil })
		if err != nil {
			return err
		}
		if whole < s.size {
			log.Warn("cutting off records that were half written when the process was killed; they were never acknowledged",
				"file", s.path, "bytes", s.size-whole)
		}
		if whole == 0 {
			if err := s.remove(); err != nil {
				return fmt.Errorf("cutting off torn records: %w", err)
			}
			continue
		}
		if whole < s.size {
			if err := os.Truncate(s.path, whole); err != nil {
				return fmt.Errorf("cutting off torn records: %w", err)
			}
		}
		return nil
	}
	return nil
}

// trim deletes the segments that the retention does not keep, the oldest first, so that a crash leaves no gap.
func trim(ctx context.Context, dir, id string, keep Retention) error {
	log, cuts, err := keep.decide(ctx, dir, id)
	if err != nil {
		return err
	}
	for _, p := range log {
		for _, s := range p.segments {
			if s.end == 0 || s.end > cuts[p.Partition] {
				break
			}
			if err := s.remove(); err != nil {
				return fmt.Errorf("bounding the log: %w", err)
			}
		}
	}
	return nil
}

// kfakeSnapshot is what kfake writes about a partition when it stops. Without one that fits the files, kfake reads all records of the
// partition into memory at once when it starts.
type kfakeSnapshot struct {
	Version          int            `json:"version"`
	HighWatermark    int64          `json:"high_watermark"`
	LastStableOffset int64          `json:"last_stable_offset"`
	LogStartOffset   int64          `json:"log_start_offset"`
	Epoch            int32          `json:"epoch"`
	CreatedAt        time.Time      `json:"created_at"`
	Segments         []kfakeSegment `json:"segments"`
}

type kfakeSegment struct {
	Base int64 `json:"base_offset"`
	Size int64 `json:"size"`
}

// snapshot writes kfake's snapshot of a partition, unless there is one that fits.
func snapshot(p partition) error {
	path := filepath.Join(p.dir, "snapshot.json")
	var s kfakeSnapshot
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &s) == nil && s.fits(p.segments) {
		return nil
	}
	s = kfakeSnapshot{Version: 1, LogStartOffset: p.segments[0].base, CreatedAt: p.segments[0].last, Epoch: s.Epoch}
	for _, file := range p.segments {
		s.Segments = append(s.Segments, kfakeSegment{file.base, file.size})
	}
	_, err := eachBatch(p.segments[len(p.segments)-1].path, func(b batch) error {
		s.HighWatermark, s.LastStableOffset = b.end(), b.end()
		return nil
	})
	if err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(path+".tmp", data, 0o600)
	}
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		return fmt.Errorf("writing a snapshot of the partition: %w", err)
	}
	return nil
}

func (s kfakeSnapshot) fits(files []segment) bool {
	if s.Version != 1 || len(s.Segments) != len(files) {
		return false
	}
	for i, file := range files {
		if s.Segments[i] != (kfakeSegment{file.base, file.size}) {
			return false
		}
	}
	return true
}
