package budget

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// Whoever asks for more than is free waits until it is given back. What is larger than the room gets all of it, alone, and gives all of it back.
func TestARoomIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRoom(10)
		f := func(n int, want bool) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			held := r.Held()
			if err := r.Take(ctx, n); (err == nil) != want {
				t.Fatalf("%d of 10 bytes beside %d: %v, want them %v", n, held, err, want)
			}
		}
		f(4, true)
		f(6, true)
		f(1, false)
		r.Give(4)
		f(25, false)
		r.Give(6)
		f(25, true)
		f(1, false)
		if n := r.Held(); n != 25 {
			t.Fatalf("%d bytes are held, want 25", n)
		}
		r.Give(25)
		f(10, true)
		r.Give(10)
		if n := r.Held(); n != 0 {
			t.Errorf("%d bytes are held, and all were given back", n)
		}
	})
}
