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

// What a partition's directory is called beside it while its segments are cut into smaller ones.
const beingWritten, replaced = ".new", ".old"

// split writes a partition anew if it has segments that are far too large, as earlier versions made them. The records stay as they
// are. Another directory is written and then takes the place of the old one, so that a crash leaves one of them whole.
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
			err = fmt.Errorf("%s is damaged after %d bytes: put back the data.dir as it was", s.path, whole)
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

// recoverSplits tidies up after a split that was cut short. The old directory is moved away when the new one is whole, never before.
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

// splitter writes batches into segments of segmentBytes. It writes no index: kfake makes do without, and ours says nothing, since
// partitions never change their leader and nobody uses transactions.
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

// close ends a segment. It is as old as its latest record.
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
