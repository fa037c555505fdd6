package intake

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestLargeBodiesAreBounded: what is larger than an event takes one of a few places, until its request is done with it.
func TestLargeBodiesAreBounded(t *testing.T) {
	d := closedDoor(t)
	d.large = newPlaces(1, 1, 1, 1, time.Millisecond)
	read := func(size int) (done func(), reason string) {
		body := "[" + strings.Repeat(" ", size-2) + "]"
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", strings.NewReader(body))
		var in room
		got, err := d.readBody(httptest.NewRecorder(), r, &in, isArray)
		if err != nil {
			return in.leave, refusalOf(err).reason
		}
		if string(got) != body {
			t.Errorf("%d of %d bytes were read", len(got), size)
		}
		return in.leave, ""
	}
	first, reason := read(1 << 20)
	if reason != "" {
		t.Fatal(reason)
	}
	second, reason := read(65537)
	if reason != overloaded {
		t.Errorf("a second large body: %q", reason)
	}
	second()
	small, reason := read(65536)
	if reason != "" {
		t.Errorf("a small one: %q", reason)
	}
	small()
	first()
	again, reason := read(65537)
	if reason != "" {
		t.Errorf("when there is room again: %q", reason)
	}
	again()
	over, reason := read(1<<20 + 1)
	if reason != bodyTooLarge {
		t.Errorf("one byte too many: %q", reason)
	}
	over()
	over() // once more does no harm
	if n := d.large.inUse(); n != 0 || len(d.large.by) != 0 || d.large.waiting.Len() != 0 || len(d.large.inLine) != 0 {
		t.Errorf("%d places are still taken, by %v", n, d.large.by)
	}
}

// TestAPanicLeavesNoPlaceTaken: whatever happens to a large body, its place is given back.
func TestAPanicLeavesNoPlaceTaken(t *testing.T) {
	d := closedDoor(t)
	d.access, d.limits, d.large = &access{open: true}, newLimits(d.cfg.Limits), newPlaces(1, 1, 1, 1, time.Millisecond)
	taken := 0
	body := io.MultiReader(strings.NewReader("["+strings.Repeat(" ", 70<<10)), readerFunc(func([]byte) (int, error) {
		taken = d.large.inUse()
		panic("in the middle")
	}))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		d.takeJSON(d.cfg.Kafka.Topics.Visits, nil)(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/visits", body))
	}()
	if taken != 1 || d.large.inUse() != 0 {
		t.Errorf("%d places were taken before the panic, %d after", taken, d.large.inUse())
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
