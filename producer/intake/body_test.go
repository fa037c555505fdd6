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

// TestLargeBodiesAreBounded: a body larger than an event takes one of a few slots until its request has ended.
func TestLargeBodiesAreBounded(t *testing.T) {
	d := newTestServer(t)
	d.largeBodies = admission.NewSemaphore(1, 0, 1, 1, time.Millisecond)
	read := func(size int) (done func(), reason string) {
		body := "[" + strings.Repeat(" ", size-2) + "]"
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", strings.NewReader(body))
		var in admission.Slots
		got, err := d.readBody(httptest.NewRecorder(), r, &in, isArray)
		if err != nil {
			return in.ReleaseAll, answer.Of(err).Reason
		}
		if string(got) != body {
			t.Errorf("%d of %d bytes were read", len(got), size)
		}
		return in.ReleaseAll, ""
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
	if n := d.largeBodies.InUse(); n != 0 || d.largeBodies.Waiting() != 0 {
		t.Errorf("%d slots are still taken, %d wait", n, d.largeBodies.Waiting())
	}
}

// TestAPanicReleasesTheSlot: a handler that panics gives the slot of its large body back.
func TestAPanicReleasesTheSlot(t *testing.T) {
	d := newTestServer(t)
	d.access, d.limits, d.largeBodies = &admission.Access{Open: true}, admission.NewLimits(d.cfg.Limits), admission.NewSemaphore(1, 0, 1, 1, time.Millisecond)
	taken := 0
	body := io.MultiReader(strings.NewReader("["+strings.Repeat(" ", 70<<10)), readerFunc(func([]byte) (int, error) {
		taken = d.largeBodies.InUse()
		panic("in the middle")
	}))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = d.receiveJSON(d.cfg.Kafka.Topics.Visits, nil)(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/visits", body))
	}()
	if taken != 1 || d.largeBodies.InUse() != 0 {
		t.Errorf("%d slots were taken before the panic, %d after", taken, d.largeBodies.InUse())
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestBatchesTakeAWorkerSlot: when all processors are busy with batches a single event passes, and another batch waits for its turn.
func TestBatchesTakeAWorkerSlot(t *testing.T) {
	d := newTestServer(t)
	d.workers = admission.NewSemaphore(1, 0, 1, 1, time.Millisecond)
	if !d.workers.Acquire(t.Context(), admission.Tenant{Grant: "another"}) {
		t.Fatal("no slot where there is one")
	}
	f := func(body, zipped, want string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", strings.NewReader(body))
		r.Header.Set("Content-Encoding", zipped)
		in := admission.Slots{}
		defer in.ReleaseAll()
		if _, _, err := d.readEvents(httptest.NewRecorder(), r, &in); want == "" && err != nil || want != "" && answer.Of(err).Reason != want {
			t.Errorf("%.20s: %v, want %q", body, err, want)
		}
	}
	batch := "[" + strings.Repeat(`{"guid":"g"},`, 500) + "{}]"
	f(`{"guid":"`+strings.Repeat("g", 5000)+`"}`, "", "")
	f(zippedText(`{"guid":"g"}`), "gzip", "")
	f(batch, "", answer.Overloaded)
	f(zippedText(batch), "gzip", answer.Overloaded)
	d.workers.Release(admission.Tenant{Grant: "another"})
	f(batch, "", "")
	f(zippedText(batch), "gzip", "")
	if n := d.workers.InUse(); n != 0 {
		t.Errorf("%d slots are still taken", n)
	}
}

// TestWorkerSlotsAreReleasedForData: while a request waits for more compressed data it holds no worker slot.
func TestWorkerSlotsAreReleasedForData(t *testing.T) {
	d := newTestServer(t)
	batch := zippedText(`[{"guid":"` + noise(20_000) + `"}]`) // much of it compressed, too
	waits, working := 0, 0
	rest := strings.NewReader(batch)
	body := readerFunc(func(p []byte) (int, error) {
		waits++
		working += d.workers.InUse()
		return rest.Read(p[:min(len(p), 1000)])
	})
	r := httptest.NewRequest(http.MethodPost, "/v1/visits", body)
	r.Header.Set("Content-Encoding", "gzip")
	in := admission.Slots{}
	if _, _, err := d.readEvents(httptest.NewRecorder(), r, &in); err != nil {
		t.Fatal(err)
	}
	if waits < 10 || working > 0 {
		t.Errorf("held a slot in %d of %d waits for data", working, waits)
	}
	if n := d.workers.InUse(); n != 1 {
		t.Errorf("%d slots are taken when all is there, want 1", n)
	}
	in.ReleaseAll()
}

func zippedText(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, text)
	_ = w.Close()
	return b.String()
}

// TestWorkerSlotsAreReleasedForBodySlots: a request that waits for a slot for its body or its answer holds no worker slot.
func TestWorkerSlotsAreReleasedForBodySlots(t *testing.T) {
	f := func(body, zipped string) {
		t.Helper()
		d := newTestServer(t)
		d.largeBodies = admission.NewSemaphore(1, 0, 1, 1, time.Minute)
		d.limits = admission.NewLimits(d.cfg.Limits)
		if !d.largeBodies.Acquire(t.Context(), admission.Tenant{Grant: "another"}) {
			t.Fatal("no slot where there is one")
		}
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", strings.NewReader(body))
		r.Header.Set("Content-Encoding", zipped)
		done := make(chan error, 1)
		go func() {
			in := admission.Slots{}
			defer in.ReleaseAll()
			parts, _, err := d.readEvents(httptest.NewRecorder(), r, &in)
			if err == nil {
				err = d.chargeBatch(sender{request: r}, len(parts), &in)
			}
			done <- err
		}()
		for d.largeBodies.Waiting() == 0 {
			time.Sleep(time.Millisecond)
		}
		if n := d.workers.InUse(); n != 0 {
			t.Errorf("%d worker slots are held by requests that wait for a large body slot", n)
		}
		d.largeBodies.Release(admission.Tenant{Grant: "another"})
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	f("["+strings.Repeat(`{"guid":"g"},`, 500)+"{}]", "")
	f(zippedText("["+strings.Repeat(" ", 200<<10)+"{}]"), "gzip")
}

// TestWaitingForAWorkerSlotIsNotTheSendersTime: a sender that sent all of a compressed batch at once does not time out while its request
// waits for a worker slot.
func TestWaitingForAWorkerSlotIsNotTheSendersTime(t *testing.T) {
	d := newTestServer(t)
	d.workers = admission.NewSemaphore(1, 0, 1, 1, 10*time.Second)
	another := admission.Tenant{Grant: "another"}
	if !d.workers.Acquire(t.Context(), another) {
		t.Fatal("no slot where there is one")
	}
	outcome := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := admission.Slots{}
		defer in.ReleaseAll()
		_, _, err := d.readEvents(w, r, &in)
		outcome <- err
	}))
	defer server.Close()
	time.AfterFunc(bodyGrace+700*time.Millisecond, func() { d.workers.Release(another) })
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
