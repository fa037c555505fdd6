package retry

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"
)

// At its deadline a context is over, even if its own timer fires a moment later than others.
func TestOver(t *testing.T) {
	cause := errors.New("gave up")
	for range 500 {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Microsecond, cause)
		for deadline, _ := ctx.Deadline(); time.Now().Before(deadline); { // busy: a sleep would end after the moment under test
			runtime.Gosched()
		}
		if !Over(ctx) || !errors.Is(context.Cause(ctx), cause) {
			t.Fatalf("over: %v, because %v", Over(ctx), context.Cause(ctx))
		}
		cancel()
	}
	if Over(t.Context()) {
		t.Error("a context without an end is over")
	}
}
