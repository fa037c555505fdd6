package meter

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Waiting knows since when the oldest event of a partition waits to be counted, and when the newest that is counted was written. Ages are
// computed when they are asked for, so they go on growing while Kafka or the store does not answer. The zero value is a partition
// of which nothing is known. Safe for concurrent use.
//
// The oldest uncounted event is the first of the oldest chunk that is not counted. If no chunk has one, and the log goes on, nobody has read
// it yet, or somebody holds it back. Then it was written after the last one that is counted, and after the last moment at which all was
// counted. That may be long before, so Kafka is asked for the time of the message, once.
type Waiting struct {
	mu      sync.Mutex
	chunks  []int64 // when the first message of each uncounted chunk was written, the oldest first. All times are in Unix milliseconds
	counted int64   // every offset below is counted
	began   int64   // when this process took the partition
	last    int64   // when the last message that is counted was written; 0: not known
	newest  int64   // the latest time of a message that is counted; 0: not known
	sought  bool    // Kafka was asked for it
	looked  int64   // when the log's end was asked for last; 0: not yet
	end     int64   // of the log, or the seal
	idle    int64   // the last moment at which everything written was counted; 0: not yet
	seen    int64   // the offset at which the partition was found waiting, plus one
	head    head
}

// unseen is how long a partition in which everything is counted may go without a look. After that, nobody knows what was written since: it may
// be that others reach Kafka, and this process does not.
const unseen = 10 * time.Second

// head is what Kafka says about the message at an offset.
type head struct {
	at, offset int64
	known      bool
	none       int64 // there is no message below this end of the log, only markers of transactions; 0: there is one
}

// Start says that counting begins at an offset.
func (w *Waiting) Start(offset int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counted, w.began = offset, time.Now().UnixMilli()
}

// Collects says that a chunk got its first message of the partition, which was written at that time.
func (w *Waiting) Collects(at time.Time) {
	ms := at.UnixMilli()
	if ms <= 0 {
		ms = time.Now().UnixMilli()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.chunks = append(w.chunks, ms)
}

// Counted says that the oldest chunk is counted, up to an offset, and when the last and the newest of its messages were written.
func (w *Waiting) Counted(to int64, last, newest time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.chunks) > 0 {
		w.chunks = append(w.chunks[:0], w.chunks[1:]...)
	}
	w.counted = to
	if ms := last.UnixMilli(); ms > 0 {
		w.last = ms
	}
	w.newest = max(w.newest, newest.UnixMilli())
}

// Looked says where the log ended at a moment, or a little later.
func (w *Waiting) Looked(end int64, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked, w.end = at.UnixMilli(), end
	if w.counted >= end {
		w.idle = at.UnixMilli()
	}
}

// Asks returns the offset of the message whose time Kafka should be asked for, and that of the message before the first one that is not
// counted, if its time is wanted; else -1. Call it after Looked, about once a second: it waits for one call before it wants to know, since most
// messages are in a chunk by then.
func (w *Waiting) Asks() (next, before int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next, before = -1, -1
	if w.newest == 0 && !w.sought && w.counted > 0 {
		w.sought, before = true, w.counted-1
	}
	if w.counted >= w.end || len(w.chunks) > 0 || w.answered() {
		return next, before
	}
	if first := w.seen != w.counted+1; first && max(w.last, w.idle) > 0 {
		w.seen = w.counted + 1
		return next, before
	}
	return w.counted, before
}

// answered tells whether Kafka has said what is known of the first message that is not counted.
func (w *Waiting) answered() bool {
	return w.head.known && w.head.offset == w.counted && (w.head.none == 0 || w.head.none >= w.end)
}

// Found says when the first message from offset asked on was written, and where it is; offset -1: there is none.
func (w *Waiting) Found(asked, offset int64, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case asked == w.counted && (offset < 0 || offset >= w.end): // or beyond the seal
		w.head = head{offset: asked, known: true, none: w.end}
	case asked == w.counted:
		w.head = head{offset: asked, known: true, at: at.UnixMilli()}
	case offset == asked: // the one before
		w.newest = max(w.newest, at.UnixMilli())
	}
}

// age is how long the oldest event that is not counted waits; not known before Looked.
func (w *Waiting) age(now time.Time) (age time.Duration, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var since int64
	switch {
	case len(w.chunks) > 0:
		since = w.chunks[0]
	case w.looked == 0:
		return 0, false
	case w.counted >= w.end || w.answered() && w.head.none > 0:
		since = w.looked
		if now.Sub(time.UnixMilli(since)) < unseen {
			return 0, true
		}
	case w.answered():
		since = w.head.at
	default:
		if since = max(w.last, w.idle); since == 0 {
			since = w.began
		}
	}
	return max(now.Sub(time.UnixMilli(since)), 0), true
}

// newestCounted is when the newest message that is counted was written, in Unix milliseconds; 0: not known.
func (w *Waiting) newestCounted() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newest
}

// waitings exports what the partitions' Waiting know.
type waitings Metrics

var (
	uncountedAge = prometheus.NewDesc("footfall_uncounted_age_seconds",
		"Age of the oldest event of the partition that is not counted yet, by its timestamp in Kafka; 0: none waits.", []string{"topic", "partition"}, nil)
	newestCounted = prometheus.NewDesc("footfall_newest_counted_timestamp_seconds",
		"Timestamp in Kafka of the newest event of the partition that is counted.", []string{"topic", "partition"}, nil)
)

// Describe implements prometheus.Collector.
func (*waitings) Describe(out chan<- *prometheus.Desc) {
	out <- uncountedAge
	out <- newestCounted
}

// Collect implements prometheus.Collector.
func (m *waitings) Collect(out chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	for p, w := range m.waiting {
		if age, known := w.age(now); known {
			out <- prometheus.MustNewConstMetric(uncountedAge, prometheus.GaugeValue, age.Seconds(), labels(p)...)
		}
		if ms := w.newestCounted(); ms > 0 {
			out <- prometheus.MustNewConstMetric(newestCounted, prometheus.GaugeValue, float64(ms)/1000, labels(p)...)
		}
	}
}
