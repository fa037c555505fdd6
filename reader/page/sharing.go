package page

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"
)

// sharing keeps for a moment what takes many reads, by what was asked: many people look at the same page at once, and again every second.
// Whoever asks gets what is kept if it is young enough. If it is older, and somebody else has just asked, one of them has it read again
// behind their backs, and all get what is there meanwhile. Whoever asks alone waits for what is read. A value has to say itself how far it
// reaches.
type sharing[K comparable, V any] struct {
	pause  int           // a value is kept for so many times as long as it took to read, within keptFor and longestKept
	grace  time.Duration // how long a value is served beyond that while it is read again
	caught func(any)     // is told of a panic in a read for which nobody waits; nil: nobody is
	size   func(V) int   // bytes of a value; nil: they do not count

	mu      sync.Mutex
	entries map[K]*entry[V]
}

const (
	keptFor     = 450 * time.Millisecond // at the least; less than the second after which a page asks again
	longestKept = 10 * time.Second
	pageGrace   = time.Second // of pages: nobody gets one older than 1.45 s, unless reading it took longer
	rankGrace   = 5 * time.Second
	mostKept    = 256 // beyond which all are forgotten,
	mostBytes   = 16 << 20
)

// behind bounds how many values are read while nobody waits for them: such a read has no place of http.max_in_flight.
var behind = make(chan struct{}, 4)

type entry[V any] struct {
	reading chan struct{} // holds one while somebody reads

	mu    sync.Mutex
	last  kept[V]
	asked time.Time
}

type kept[V any] struct {
	value V
	read  time.Time // when that began; zero: never, which is too long ago
	keep  time.Duration
	size  int
	tries int
	err   error // of the last try, of which nothing is kept
}

func (s *sharing[K, V]) of(key K) *entry[V] {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entries[key]
	if e == nil {
		size := 0
		maps.DeleteFunc(s.entries, func(_ K, e *entry[V]) bool {
			last := e.kept()
			if len(e.reading) == 0 && time.Since(last.read) >= last.keep+s.grace { // nobody can get it any more, and nobody reads it
				return true
			}
			size += last.size
			return false
		})
		if s.entries == nil || len(s.entries) >= mostKept || size > mostBytes {
			s.entries = map[K]*entry[V]{}
		}
		e = &entry[V]{reading: make(chan struct{}, 1)}
		s.entries[key] = e
	}
	return e
}

// get returns a value that is young enough; read makes a new one. What failed is told to those who wait, and not kept.
func (s *sharing[K, V]) get(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	e := s.of(key)
	came, alone := e.ask()
	switch age := time.Since(came.read); {
	case age < came.keep:
		return came.value, nil
	case age < came.keep+s.grace && !alone:
		s.again(ctx, e, read)
		return came.value, nil
	}
	select {
	case e.reading <- struct{}{}:
		defer func() { <-e.reading }()
	case <-ctx.Done():
		return came.value, ctx.Err()
	}
	if now := e.kept(); now.tries != came.tries && !gaveUp(now.err) { // somebody else has read it, however long that took
		return now.value, now.err
	}
	return s.renew(ctx, e, read)
}

// gaveUp tells that a read failed because of who waited for it.
func gaveUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// ask also tells whether nobody else has asked for as long as the value is kept.
func (e *entry[V]) ask() (last kept[V], alone bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	alone = time.Since(e.asked) >= e.last.keep
	e.asked = time.Now()
	return e.last, alone
}

func (e *entry[V]) kept() kept[V] {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last
}

// again reads a value behind the back of who asked, unless somebody does already.
func (s *sharing[K, V]) again(ctx context.Context, e *entry[V], read func(context.Context) (V, error)) {
	select {
	case behind <- struct{}{}:
	default:
		return
	}
	select {
	case e.reading <- struct{}{}:
	default:
		<-behind
		return
	}
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	if deadline, ok := ctx.Deadline(); ok {
		detached, cancel = context.WithDeadline(context.WithoutCancel(ctx), deadline)
	}
	go func() {
		defer func() {
			if p := recover(); p != nil && s.caught != nil { // as after an error: the value gets too old, and whoever asks then sees why
				s.caught(p)
			}
			cancel()
			<-e.reading
			<-behind
		}()
		_, _ = s.renew(detached, e, read)
	}()
}

// renew reads a value and keeps it. The caller holds e.reading.
func (s *sharing[K, V]) renew(ctx context.Context, e *entry[V], read func(context.Context) (V, error)) (V, error) {
	began := time.Now()
	value, err := read(ctx)
	took := time.Since(began)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last.tries++
	if e.last.err = err; err == nil {
		e.last.value, e.last.read, e.last.keep = value, began, max(keptFor, min(time.Duration(s.pause)*took, longestKept))
		if s.size != nil {
			e.last.size = s.size(value)
		}
	}
	return value, err
}
