package intake

import (
	"compress/gzip"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"footfall/producer/admission"
	"footfall/producer/answer"
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
			return in.leave, answer.Of(err).Reason
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
	if reason != answer.Overloaded {
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
	if reason != answer.BodyTooLarge {
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

// TestTheMillIsForBatches: when all processors are busy with batches a single event passes, and another batch waits for its turn.
func TestTheMillIsForBatches(t *testing.T) {
	d := closedDoor(t)
	d.mill = newPlaces(1, 1, 1, 1, time.Millisecond)
	if !d.mill.take(t.Context(), admission.Tenant{Grant: "another"}) {
		t.Fatal("no place where there is one")
	}
	f := func(body, zipped, want string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", strings.NewReader(body))
		r.Header.Set("Content-Encoding", zipped)
		in := room{}
		defer in.leave()
		if _, _, err := d.parts(httptest.NewRecorder(), r, &in); want == "" && err != nil || want != "" && answer.Of(err).Reason != want {
			t.Errorf("%.20s: %v, want %q", body, err, want)
		}
	}
	batch := "[" + strings.Repeat(`{"guid":"g"},`, 500) + "{}]"
	f(`{"guid":"`+strings.Repeat("g", 5000)+`"}`, "", "")
	f(zippedText(`{"guid":"g"}`), "gzip", "")
	f(batch, "", answer.Overloaded)
	f(zippedText(batch), "gzip", answer.Overloaded)
	d.mill.give(admission.Tenant{Grant: "another"})
	f(batch, "", "")
	f(zippedText(batch), "gzip", "")
	if n := d.mill.inUse(); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
}

// TestNobodyWaitsInTheMill: who sends compressed data slowly leaves the processors to others until there is more of it.
func TestNobodyWaitsInTheMill(t *testing.T) {
	d := closedDoor(t)
	batch := zippedText(`[{"guid":"` + noise(20_000) + `"}]`) // much of it compressed, too
	waits, milled := 0, 0
	rest := strings.NewReader(batch)
	body := readerFunc(func(p []byte) (int, error) {
		waits++
		milled += d.mill.inUse()
		return rest.Read(p[:min(len(p), 1000)])
	})
	r := httptest.NewRequest(http.MethodPost, "/v1/visits", body)
	r.Header.Set("Content-Encoding", "gzip")
	in := room{}
	if _, _, err := d.parts(httptest.NewRecorder(), r, &in); err != nil {
		t.Fatal(err)
	}
	if waits < 10 || milled > 0 {
		t.Errorf("had a place in %d of %d waits for data", milled, waits)
	}
	if n := d.mill.inUse(); n != 1 {
		t.Errorf("%d places are taken when all is there, want 1", n)
	}
	in.leave()
}

func zippedText(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// TestNobodyWaitsForRoomInTheMill: neither for a large body nor for the answer to a batch.
func TestNobodyWaitsForRoomInTheMill(t *testing.T) {
	f := func(body, zipped string) {
		t.Helper()
		d := closedDoor(t)
		d.large = newPlaces(1, 1, 1, 1, time.Minute)
		d.limits = newLimits(d.cfg.Limits)
		if !d.large.take(t.Context(), admission.Tenant{Grant: "another"}) {
			t.Fatal("no place where there is one")
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", strings.NewReader(body))
		r.Header.Set("Content-Encoding", zipped)
		done := make(chan error, 1)
		go func() {
			in := room{}
			defer in.leave()
			parts, _, err := d.parts(httptest.NewRecorder(), r, &in)
			if err == nil {
				err = d.chargeBatch(sender{request: r}, len(parts), &in)
			}
			done <- err
		}()
		for d.large.waits() == 0 {
			time.Sleep(time.Millisecond)
		}
		if n := d.mill.inUse(); n != 0 {
			t.Errorf("%d places of the mill are taken by who waits for a large place", n)
		}
		d.large.give(admission.Tenant{Grant: "another"})
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	f("["+strings.Repeat(`{"guid":"g"},`, 500)+"{}]", "")
	f(zippedText("["+strings.Repeat(" ", 200<<10)+"{}]"), "gzip")
}

// TestWaitingForTheMillIsNotTheSendersTime: whoever sent all of a compressed batch at once is not late because others were worked at
// for longer than a sender may take.
func TestWaitingForTheMillIsNotTheSendersTime(t *testing.T) {
	d := closedDoor(t)
	d.mill = newPlaces(1, 1, 1, 1, 10*time.Second)
	another := admission.Tenant{Grant: "another"}
	if !d.mill.take(t.Context(), another) {
		t.Fatal("no place where there is one")
	}
	outcome := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := room{}
		defer in.leave()
		_, _, err := d.parts(w, r, &in)
		outcome <- err
	}))
	defer server.Close()
	time.AfterFunc(largeGrace+700*time.Millisecond, func() { d.mill.give(another) })
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(zippedText(`[{"guid":"`+noise(60_000)+`"}]`)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Encoding", "gzip")
	if answer, err := server.Client().Do(r); err == nil { // else the outcome tells why
		_ = answer.Body.Close()
	}
	if err := <-outcome; err != nil {
		t.Errorf("a batch that came at once, and waited for others: %v", err)
	}
}

// noise is text that compresses badly.
func noise(size int) string {
	var text strings.Builder
	random := rand.New(rand.NewPCG(1, 2))
	for range size {
		text.WriteByte("0123456789abcdef"[random.IntN(16)])
	}
	return text.String()
}
