package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"footfall/models"
)

// segmentBytes is how large kfake lets a segment grow. Segments are small because kfake reads a whole segment of each partition into
// memory at a time, and because the log is trimmed by whole segments.
const segmentBytes = 1 << 20

// segment is a file of records, named by the first offset in it.
type segment struct {
	path string
	base int64
	end  int64 // the offset after the last record; 0 for the last segment, which grows
	size int64
	last time.Time // when it was written last
}

// partition is one Kafka partition and its files.
type partition struct {
	models.Partition
	dir      string
	segments []segment // by offset
}

// partitions lists the log in dir. It leaves out empty files: kfake makes a segment before it has the first batch.
func partitions(dir string) ([]partition, error) {
	root := filepath.Join(dir, "partitions")
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing the log: %w", err)
	}
	var found []partition
	for _, e := range entries {
		name, ok := partitionOf(e.Name())
		if !ok {
			continue
		}
		p := partition{Partition: name, dir: filepath.Join(root, e.Name())}
		if p.segments, err = segments(p.dir); err != nil {
			return nil, err
		}
		if len(p.segments) > 0 {
			found = append(found, p)
		}
	}
	return found, nil
}

// partitionOf parses the name of a partition's directory: the escaped topic and the number.
func partitionOf(name string) (models.Partition, bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return models.Partition{}, false
	}
	topic, err := url.PathUnescape(name[:i])
	number, wrong := strconv.Atoi(name[i+1:])
	return models.Partition{Topic: topic, Number: number}, err == nil && wrong == nil
}

func segments(dir string) (list []segment, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("listing segments: %w", err)
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".dat")
		base, wrong := strconv.ParseInt(name, 10, 64)
		if !ok || wrong != nil {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("listing segments: %w", err)
		}
		if info.Size() > 0 {
			list = append(list, segment{path: filepath.Join(dir, e.Name()), base: base, size: info.Size(), last: info.ModTime()})
		}
	}
	slices.SortFunc(list, func(a, b segment) int { return int(min(max(a.base-b.base, -1), 1)) })
	for i := range list[:max(len(list)-1, 0)] {
		list[i].end = list[i+1].base
	}
	return list, nil
}

// remove deletes a segment and its index.
func (s segment) remove() error {
	err := os.Remove(s.path)
	if index := os.Remove(strings.TrimSuffix(s.path, ".dat") + ".idx"); !errors.Is(index, fs.ErrNotExist) {
		err = errors.Join(err, index)
	}
	return err
}
