package web

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"footfall/models"
	_ "footfall/reader/export/parquet" // as a reader has it
	"footfall/reader/params"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

const siteExport = "/v1/stats/sites/shop1/export?month=2018-10"

// unzipped are the files of a ZIP, by name.
func unzipped(t *testing.T, body []byte) map[string]string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[f.Name] = string(text)
	}
	return out
}

// counted is a store with a visit, a click, and consumers that run.
func counted() *statstest.Memory {
	store := statstest.NewMemory(models.DefaultPlan())
	store.Add(&models.Visit{SiteID: "shop1", GUID: "g", Features: []string{"=1", "/a"}, TS: millis("2018-10-03")},
		&models.Click{ShortURL: "promo", IP: "203.0.113.7", TS: millis("2018-10-03")})
	return store
}

func TestExports(t *testing.T) {
	s := newServer(t, stats.New(counted(), "clicks", "visits"), open, nil)
	for target, want := range map[string]string{
		siteExport: "csv", siteExport + "&format=csv": "csv", siteExport + "&format=ndjson": "ndjson", siteExport + "&format=parquet": "parquet",
		"/v1/stats/links/promo/export?month=2018-10&format=ndjson": "ndjson", "/v1/stats/links/promo/export": "csv",
	} {
		w := get(s, target)
		h := w.Header()
		if w.Code != 200 || h.Get("Content-Type") != zipType || h.Get("Etag") != "" || h.Get("Footfall-As-Of") == "" || h.Get("Content-Length") != fmt.Sprint(w.Body.Len()) ||
			!strings.HasSuffix(h.Get("Content-Disposition"), `-2018-10.zip"`) || h.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %v", target, w.Code, h)
		}
		files := unzipped(t, w.Body.Bytes())
		var m struct {
			Rows, Bytes           int64
			SHA256, Format, Month string
		}
		if err := json.Unmarshal([]byte(files["manifest.json"]), &m); err != nil {
			t.Fatal(err)
		}
		counts, there := files["counts."+want]
		sum := sha256.Sum256([]byte(counts))
		if !there || len(files) != 2 || m.SHA256 != hex.EncodeToString(sum[:]) || m.Bytes != int64(len(counts)) || m.Format != want || m.Month != "2018-10" {
			t.Errorf("%s: %q, %+v", target, files, m)
		}
		if head := send(s, http.MethodHead, target); head.Code != 200 || head.Body.Len() > 0 || head.Header().Get("Content-Type") != zipType || head.Header().Get("Footfall-As-Of") == "" {
			t.Errorf("HEAD %s: %d %v", target, head.Code, head.Header())
		}
	}
	if got := testutil.ToFloat64(s.metrics.rows); got != float64(88+2*len(models.DefaultPlan().Breakdowns())) {
		t.Errorf("%v rows counted", got)
	}
}

func TestExportsAreRefusedByName(t *testing.T) {
	store := counted()
	s := newServer(t, stats.New(store, "clicks", "visits"), open, nil)
	f := func(target string, status int, reason string, headers ...string) {
		t.Helper()
		if w := get(s, target, headers...); w.Code != status || reasonOf(t, w.Body) != reason {
			t.Errorf("%s: %d %v, want %d %s", target, w.Code, w.Header(), status, reason)
		}
	}
	f(siteExport+"&format=json", 406, notAcceptable)
	f(siteExport, 406, notAcceptable, "Accept: text/csv")
	f(siteExport+"&format=xlsx", 406, notAcceptable)
	f("/v1/stats/sites/shop1/export?month=2018-13", 400, "bad_month")
	f("/v1/stats/sites/shop1/export?month=2018-10-03", 400, "bad_month")
	f(siteExport+"&feature1=x", 400, params.UnknownParameter)
	f("/v1/stats/sites/%00/export", 400, "siteId_has_nul")
	server := httptest.NewServer(s)
	defer server.Close()
	if status, _, body := raw(t, server.Listener.Addr().String(), "GET "+siteExport+" HTTP/1.0\r\n\r\n"); status != 505 || !strings.Contains(body, needsHTTP11) {
		t.Errorf("HTTP/1.0: %d %s", status, body)
	}
	store.Fail(errors.New("a node is down"))
	f(siteExport, 503, storeUnavailable)
	if w := send(s, http.MethodPost, siteExport); w.Code != 405 {
		t.Errorf("POST: %d", w.Code)
	}
}

// breaking has many values, and fails after some of them.
type breaking struct {
	*statstest.Memory
	after int
}

func (f breaking) Names(_ context.Context, of models.Name, _ models.NameRange) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for i := 0; of.Feature == "feature2"; i++ {
			if i == f.after {
				yield("", errors.New("a node is down"))
				return
			}
			if !yield(fmt.Sprint(i), nil) {
				return
			}
		}
	}
}

func (f breaking) Counts(_ context.Context, key models.Key) (out []stats.Count, _ error) {
	for hour := range 744 { // with numbers that do not compress
		sum := sha256.Sum256(fmt.Append(nil, key.Features, hour))
		out = append(out, stats.Count{Metric: models.HourViews, Start: key.Month + models.Millis(hour)*3_600_000, Count: int64(sum[0])<<40 | int64(sum[1])<<16 | int64(sum[2])})
	}
	return out, nil
}

// TestAnExportThatIsCutDoesNotLookWhole: it is refused while nothing is sent, and broken off afterwards.
func TestAnExportThatIsCutDoesNotLookWhole(t *testing.T) {
	for _, format := range []string{"csv", "ndjson", "parquet"} {
		for after, want := range map[int]int{3: 503, 60: 200} {
			s := newServer(t, stats.New(breaking{counted(), after}, "clicks", "visits"), open, nil)
			server := httptest.NewServer(s)
			response, err := http.Get(server.URL + siteExport + "&format=" + format)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(response.Body)
			_ = response.Body.Close()
			server.Close()
			_, unzips := zip.NewReader(bytes.NewReader(body), int64(len(body)))
			if response.StatusCode != want || (err == nil) != (want == 503) || unzips == nil || testutil.ToFloat64(s.metrics.cut) != float64(want/200%2) {
				t.Errorf("%s after %d values: %d, %d bytes, %v, %v, %v cut", format, after, response.StatusCode, len(body), err, unzips, testutil.ToFloat64(s.metrics.cut))
			}
		}
	}
}

// TestAnExportGoesOnWhileTheStoreAnswers, although the whole takes longer than http.timeout, and ends when the store is silent.
func TestAnExportGoesOnWhileTheStoreAnswers(t *testing.T) {
	for silence, want := range map[time.Duration]int{10 * time.Millisecond: 200, time.Hour: 503} {
		from := stats.New(slow{breaking{counted(), 1 << 30}, 1000, silence}, "clicks", "visits")
		s := newServer(t, from, open, func(c *Config) { c.Timeout = 2 * time.Second })
		server := httptest.NewServer(s)
		response, err := http.Get(server.URL + siteExport)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		server.Close()
		if response.StatusCode != want || err != nil || want == 503 && !strings.Contains(string(body), timedOut) {
			t.Errorf("silent for %v: %d, %d bytes, %v", silence, response.StatusCode, len(body), err)
		}
	}
}

// slow lists values of which nothing was counted, and takes its time for each.
type slow struct {
	breaking
	values int
	takes  time.Duration
}

func (s slow) Names(ctx context.Context, of models.Name, within models.NameRange) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		n := 0
		for value, err := range s.breaking.Names(ctx, of, within) {
			if n++; n > s.values || !yield(value, err) {
				return
			}
		}
	}
}

func (s slow) Counts(ctx context.Context, _ models.Key) ([]stats.Count, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(s.takes):
		return nil, nil
	}
}

// notReading is a client that does not read the body of a 200 until it is let go.
type notReading struct {
	*httptest.ResponseRecorder
	came, letGo chan struct{}
}

func (s notReading) Write(text []byte) (int, error) {
	if s.Code == http.StatusOK {
		s.came <- struct{}{}
		<-s.letGo
	}
	return s.ResponseRecorder.Write(text)
}

// TestFewExportsAtOnce: an export takes more memory than other answers.
func TestFewExportsAtOnce(t *testing.T) {
	s := newServer(t, stats.New(counted(), "clicks", "visits"), open, func(c *Config) { c.MaxInFlight = 64 })
	came, letGo, codes := make(chan struct{}, 64), make(chan struct{}), make(chan int, 64)
	for range 64 {
		go func() {
			w := notReading{httptest.NewRecorder(), came, letGo}
			s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, siteExport, nil))
			codes <- w.Code
		}()
	}
	refused := 0
	for refused+len(came) < 64 {
		select {
		case code := <-codes:
			if refused++; code != http.StatusServiceUnavailable {
				t.Errorf("an export was answered with %d", code)
			}
		case <-time.After(time.Millisecond):
		}
	}
	if running := len(came); running != 6 {
		t.Errorf("%d exports run at once, want 6: each counts as 8 of the 43 places that are not in reserve", running)
	}
	close(letGo)
	for range 64 - refused {
		<-codes
	}
}
