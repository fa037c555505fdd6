package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Endings of the new and the old directory of a partition while its segments are split.
const beingWritten, replaced = ".new", ".old"

// split rewrites a partition that has far too large segments, as earlier versions made them. The records do not change. It writes a new
// directory, which then replaces the old one, so that after a crash one of them is complete.
func split(p partition) error {
	large := false
	for _, s := range p.segments {
		large = large || s.size > 2*segmentBytes
	}
	if !large {
		return nil
	}
	if err := os.Mkdir(p.dir+beingWritten, 0o700); err != nil {
		return fmt.Errorf("cutting segments into smaller ones: %w", err)
	}
	w := &splitter{dir: p.dir + beingWritten}
	for _, s := range p.segments {
		whole, err := eachBatch(s.path, w.write)
		if err == nil && whole != s.size {
			err = fmt.Errorf("%s is damaged after %d bytes: restore data.dir from a backup", s.path, whole)
		}
		if err != nil {
			return fmt.Errorf("cutting segments into smaller ones: %w", errors.Join(err, w.close()))
		}
	}
	err := w.close()
	if err == nil {
		err = syncDir(w.dir)
	}
	if err == nil {
		err = os.Rename(p.dir, p.dir+replaced)
	}
	if err == nil {
		err = os.Rename(p.dir+beingWritten, p.dir)
	}
	if err == nil {
		err = syncDir(filepath.Dir(p.dir))
	}
	if err == nil {
		err = os.RemoveAll(p.dir + replaced)
	}
	if err != nil {
		return fmt.Errorf("cutting segments into smaller ones: %w", err)
	}
	return nil
}

// recoverSplits finishes or undoes a split that was interrupted. split moves the old directory away only when the new one is complete.
func recoverSplits(root string) error {
	for _, ending := range []string{replaced, beingWritten} {
		paths, err := filepath.Glob(filepath.Join(root, "*-*"+ending))
		if err != nil {
			return fmt.Errorf("tidying up the log: %w", err)
		}
		for _, path := range paths {
			name := strings.TrimSuffix(path, ending)
			_, err := os.Stat(name)
			if ending == replaced && errors.Is(err, fs.ErrNotExist) {
				err = os.Rename(name+beingWritten, name)
			}
			if err == nil {
				err = os.RemoveAll(path)
			}
			if err != nil {
				return fmt.Errorf("tidying up the log: %w", err)
			}
		}
	}
	return nil
}

// splitter writes batches into segments of segmentBytes. It writes no index: kfake needs none, since partitions never change their leader
// and there are no transactions.
type splitter struct {
	dir  string
	file *os.File // nil: the next batch begins a segment
	size int64
	last time.Time
}

func (w *splitter) write(b batch) (err error) {
	if w.file == nil {
		w.size, w.last = 0, time.Time{}
		path := filepath.Join(w.dir, strconv.FormatInt(b.first(), 10)+".dat")
		if w.file, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err != nil {
			return err
		}
	}
	if _, err := w.file.Write(b); err != nil {
		return err
	}
	if at := b.last(); at.After(w.last) {
		w.last = at
	}
	if w.size += int64(len(b)); w.size >= segmentBytes {
		return w.close()
	}
	return nil
}

// close ends a segment and sets its file time to that of its latest record.
func (w *splitter) close() error {
	if w.file == nil {
		return nil
	}
	err := errors.Join(w.file.Sync(), w.file.Close(), os.Chtimes(w.file.Name(), w.last, w.last))
	w.file = nil
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
