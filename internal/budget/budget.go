// Package budget bounds in bytes what is on its way through a process.
package budget

import (
	"context"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// Room is so many bytes. Whoever holds something of them took them first, and gives them back. Who holds bytes must not wait for somebody who
// waits for some. Safe for concurrent use. A nil Room has no bound.
type Room struct {
	size int64
	held atomic.Int64
	free *semaphore.Weighted
}

// NewRoom makes a room of so many bytes.
func NewRoom(size int64) *Room { return &Room{size: size, free: semaphore.NewWeighted(size)} }

// Take waits until n bytes are free, or returns ctx's error. What is larger than the room takes all of it: it may be there alone.
func (r *Room) Take(ctx context.Context, n int) error {
	if r == nil {
		return nil
	}
	if err := r.free.Acquire(ctx, min(int64(n), r.size)); err != nil {
		return err
	}
	r.held.Add(int64(n))
	return nil
}

// Give gives n bytes back that were taken at once.
func (r *Room) Give(n int) {
	if r != nil {
		r.held.Add(-int64(n))
		r.free.Release(min(int64(n), r.size))
	}
}

// Held is how many bytes are taken.
func (r *Room) Held() int {
	if r == nil {
		return 0
	}
	return int(r.held.Load())
}
