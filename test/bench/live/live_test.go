package live

import (
	"bufio"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"footfall/test/bench/workload"
)

func TestWhatIsHeld(t *testing.T) {
	good := outcome{rate: 100, due: 4000, accepted: 3990, lagBegin: 50, lagEnd: 240, p99: time.Second, most: 10 * time.Second}
	if !good.held() {
		t.Error(good.why())
	}
	for want, change := range map[string]func(*outcome){
		"accepted":      func(o *outcome) { o.accepted = 3900 },
		"the lag grew":  func(o *outcome) { o.lagEnd = 260 },
		"counted later": func(o *outcome) { o.p99 = 11 * time.Second },
	} {
		o := good
		change(&o)
		if o.held() || !strings.Contains(o.why(), want) {
			t.Errorf("got %q, want %q", o.why(), want)
		}
	}
}

// TestAges: 100 events a second are produced, and what is counted lies three seconds behind.
func TestAges(t *testing.T) {
	begin := time.Unix(1000, 0)
	var samples []sample
	for i := range 80 {
		seconds := float64(i) / 4
		samples = append(samples, sample{at: begin.Add(time.Duration(i) * 250 * time.Millisecond), produced: 100 * seconds, counted: max(0, 100*(seconds-3))})
	}
	list := ages(samples, begin.Add(5*time.Second))
	for _, share := range []float64{0.01, 0.5, 0.99} {
		if got := percentile(list, share); got < 3*time.Second || got > 3250*time.Millisecond {
			t.Errorf("%.0f %% are counted after %s, want 3 s", 100*share, got)
		}
	}
	events := 0.0
	for _, a := range list {
		events += a.events
	}
	if events < 1400 || events > 1500 {
		t.Errorf("%.0f events, want those of the last 15 s", events)
	}
	if percentile(nil, 0.99) != 0 {
		t.Error("nothing was counted, and has an age")
	}
}

// TestLags: a lag that goes up and down with chunks of eight seconds has not grown, wherever the measuring begins; one that goes up has.
func TestLags(t *testing.T) {
	of := func(lag func(seconds float64) float64) (begin, end float64) {
		var samples []sample
		for i := range 160 {
			samples = append(samples, sample{at: time.Unix(1000, 0).Add(time.Duration(i) * every), produced: lag(float64(i) * every.Seconds())})
		}
		return lags(samples)
	}
	for phase := range 8 {
		if begin, end := of(func(s float64) float64 { return 100 * math.Mod(s+float64(phase), 8) }); math.Abs(end-begin) > 30 {
			t.Errorf("phase %d: from %.0f to %.0f", phase, begin, end)
		}
	}
	if begin, end := of(func(s float64) float64 { return 10 * s }); math.Abs(begin-100) > 10 || math.Abs(end-400) > 10 {
		t.Errorf("from %.0f to %.0f, want 100 to 400", begin, end)
	}
}

func TestTallyBoundsWhatIsUnknown(t *testing.T) {
	tally := newTally(Forms[0])
	for _, e := range []struct {
		visitor  uint32
		accepted bool
	}{{1, true}, {1, true}, {2, false}, {2, false}, {3, false}, {3, true}, {4, true}, {4, false}} {
		tally.add(workload.Moment{Name: 0, Visitor: e.visitor}, e.accepted)
	}
	want := counts{least: 4, most: 8, leastUnique: 3, mostUnique: 4}
	if len(tally.events) != 3 {
		t.Errorf("got %d cells, want the site, the referrer and the page", len(tally.events))
	}
	for c, got := range tally.events {
		if *got != want {
			t.Errorf("%+v: got %+v, want %+v", c, *got, want)
		}
	}
}

func TestCheckSeesWhatIsWrong(t *testing.T) {
	tally := newTally(Forms[2])
	for visitor := range uint32(3) {
		tally.add(workload.Moment{Name: 7, Visitor: visitor}, visitor > 0)
		tally.add(workload.Moment{Name: 8, Visitor: visitor}, true)
	}
	for want, got := range map[string][2]counts{
		"":                   {{least: 2, leastUnique: 2}, {least: 3, leastUnique: 3}},
		"there are 1 events": {{least: 1, leastUnique: 2}, {least: 3, leastUnique: 3}},
		"there are 4 events": {{least: 4, leastUnique: 2}, {least: 3, leastUnique: 3}},
		"and 2 visitors":     {{least: 2, leastUnique: 2}, {least: 3, leastUnique: 2}},
		"and 4 visitors":     {{least: 2, leastUnique: 2}, {least: 3, leastUnique: 4}},
		"they have 6 events": {{least: 3, leastUnique: 3}, {least: 3, leastUnique: 3}},
	} {
		err := tally.check(map[cell]counts{{name: 7}: got[0], {name: 8}: got[1]}, 5)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestSendersKeepTime: a producer that takes long for some does not hold up the others, and what it refuses is not accepted.
func TestSendersKeepTime(t *testing.T) {
	var events atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		n := events.Add(int64(strings.Count(string(body), "\n")))
		switch n {
		case 40:
			time.Sleep(300 * time.Millisecond)
		case 80:
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
		_, _ = io.WriteString(w, strings.Repeat("x", int(n)*50)) // some in chunks
	}))
	defer server.Close()
	traffic := workload.NewLiveVisits(1)
	moments := make([]workload.Moment, 200)
	for i := range moments {
		moments[i].Due = time.Duration(i) * time.Millisecond
	}
	s := newSender(Forms[1], strings.TrimPrefix(server.URL, "http://"), traffic, moments)
	s.begin = time.Now()
	s.run(t.Context(), 4)
	late, refused := 0, 0
	for _, took := range s.took {
		if took > 250*time.Millisecond {
			late++
		}
		if took == unknown {
			refused++
		}
	}
	due, accepted, _ := s.between(0, time.Second)
	if events.Load() != 200 || late != 1 || refused != 1 || due != 200 || accepted != 180 || !strings.Contains(s.failures(), "503") {
		t.Errorf("%d events, %d late and %d refused, %.0f of %.0f accepted%s", events.Load(), late, refused, accepted, due, s.failures())
	}
}

// TestAClosedLoop: the time of an answer counts from when its request was sent, not from when it could have been.
func TestAClosedLoop(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(20 * time.Millisecond)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	s := newSender(Form{each: 1}, strings.TrimPrefix(server.URL, "http://"), workload.NewLiveVisits(1), make([]workload.Moment, 50))
	s.begin, s.closed = time.Now(), true
	s.run(t.Context(), 1)
	out := singlesOutcome{took: s.took}
	if took := time.Since(s.begin); out.p(0) < 20*time.Millisecond || out.p(50) > took/2 || s.failures() != "" {
		t.Errorf("answers took %s, all of them %s%s", out.p(50), took, s.failures())
	}
}

func TestSendersStop(t *testing.T) {
	s := newSender(Forms[0], "127.0.0.1:1", workload.NewLiveVisits(1), []workload.Moment{{}, {Due: time.Hour}})
	s.begin = time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	s.run(ctx, 1)
	if s.took[0] != unknown || s.took[1] != unsent {
		t.Errorf("got %v", s.took)
	}
}

func TestExchangeToldOfAnEnd(t *testing.T) {
	a, b := net.Pipe()
	go func() {
		_, _ = b.Read(make([]byte, 100))
		_, _ = io.WriteString(b, "HTTP/1.1 202 Accepted\r\nContent-Le")
		_ = b.Close()
	}()
	if err := exchange(a, bufio.NewReader(a), []byte("x")); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}
