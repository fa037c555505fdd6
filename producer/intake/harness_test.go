package intake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/producer/intake"
	"footfall/producer/links"
	"footfall/test/harness"
)

// runningServer is a server as the binary runs it, with its own port and topics.
type runningServer struct {
	url    string
	addr   string
	admin  string // where operators ask
	topics configs.Topics
	broker string
	log    *harness.Buffer
	stop   context.CancelFunc
	ended  chan error
}

// startServer runs a server and stops it when the test ends.
func startServer(t testing.TB, b broker, tweak func(*configs.Producer)) *runningServer {
	t.Helper()
	return startServerWith(t, b, nil, tweak)
}

// startServerWith runs a server with a store of links.
func startServerWith(t testing.TB, b broker, store links.Store, tweak func(*configs.Producer)) *runningServer {
	t.Helper()
	cfg := defaults(t, b.Addr())
	if tweak != nil {
		tweak(&cfg)
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &runningServer{topics: cfg.Kafka.Topics, broker: b.Addr(), log: &harness.Buffer{}, stop: cancel, ended: make(chan error, 1)}
	ready := make(chan [2]string, 1)
	log := slog.New(slog.NewJSONHandler(d.log, nil))
	go func() {
		d.ended <- intake.Run(ctx, cfg, intake.Opened(store), prometheus.NewRegistry(), log, func(addr, admin string) { ready <- [2]string{addr, admin} })
	}()
	t.Cleanup(func() {
		d.close(t)
		if s, ok := b.(shared); ok {
			s.forget(t, d.topics)
		}
	})
	select {
	case at := <-ready:
		d.addr, d.url, d.admin = at[0], "http://"+at[0], "http://"+at[1]
	case err := <-d.ended:
		d.ended <- err
		t.Fatalf("the server did not start: %v", err)
	}
	return d
}

// close stops the server and checks that it ends without an error. It may be called again.
func (d *runningServer) close(t testing.TB) {
	t.Helper()
	d.stop()
	select {
	case err := <-d.ended:
		if err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
		d.ended <- nil
	case <-time.After(30 * time.Second):
		t.Fatal("Run did not return within 30 s of its context's end")
	}
}

// defaults is the configuration of producer.yaml, with addresses and names of the test's own.
func defaults(t testing.TB, broker string) configs.Producer {
	t.Helper()
	cfg, err := configs.LoadProducer("")
	if err != nil {
		t.Fatal(err)
	}
	run := "-" + uuid.NewString()[:8]
	cfg.HTTP.Addr, cfg.HTTP.AdminAddr = "127.0.0.1:0", "127.0.0.1:0"
	cfg.Access.Open = true
	cfg.Kafka.Brokers = []string{broker}
	cfg.Kafka.CreateTopics = true
	cfg.Kafka.Partitions = 6
	cfg.Kafka.Topics = configs.Topics{Clicks: "clicks" + run, Visits: "visits" + run, Dead: "dead" + run}
	return cfg
}

// reply is an answer as a client sees it.
type reply struct {
	status int
	header http.Header
	raw    string
	ID     string `json:"id"`
	Error  string `json:"error"`
	Detail string `json:"detail"`
}

func (d *runningServer) post(t *testing.T, path, contentType, body string) reply {
	t.Helper()
	header := http.Header{}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	return d.do(t, http.MethodPost, path, header, strings.NewReader(body))
}

func (d *runningServer) do(t *testing.T, method, path string, header http.Header, body io.Reader) reply {
	t.Helper()
	r, err := d.try(method, path, header, body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

// try is do for goroutines other than the test's.
func (d *runningServer) try(method, path string, header http.Header, body io.Reader) (reply, error) {
	return exchangeHTTP(method, d.url+path, header, body)
}

// ask sends a request to the admin address.
func (d *runningServer) ask(t *testing.T, method, path string) reply {
	t.Helper()
	r, err := exchangeHTTP(method, d.admin+path, nil, nil)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return r
}

func exchangeHTTP(method, url string, header http.Header, body io.Reader) (reply, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, url, body)
	if err != nil {
		return reply{}, err
	}
	request.Header = header
	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return reply{}, err
	}
	if response.Header.Get("X-Content-Type-Options") != "nosniff" {
		return reply{}, fmt.Errorf("%s %s: browsers may take the answer for something else: no nosniff", method, url)
	}
	r := reply{status: response.StatusCode, header: response.Header, raw: string(text)}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") && len(text) > 0 {
		if err := json.Unmarshal(text, &r); err != nil {
			return reply{}, err
		}
	}
	return r, nil
}

// metric reads one sample of /metrics by its name with labels; "" if there is none.
func (d *runningServer) metric(t *testing.T, sample string) string {
	t.Helper()
	for line := range strings.Lines(d.ask(t, http.MethodGet, "/metrics").raw) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), sample+" "); ok {
			return value
		}
	}
	return ""
}

// eventually polls until ok, and fails when it takes too long.
func eventually(t testing.TB, what string, within time.Duration, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(within)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
