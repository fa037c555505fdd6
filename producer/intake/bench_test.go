package intake_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"footfall/configs"
)

// BenchmarkClick posts one click a request. The broker is kfake in this process, so compare allocations before times.
func BenchmarkClick(b *testing.B) {
	benchmarkPost(b, "/v1/clicks", func(n int64) string {
		return fmt.Sprintf(`{"short_url":"s%d","ip":"203.0.113.%d","referrer":"https://news.example/","ua":"Mozilla/5.0"}`, n%100, n%250)
	})
}

// BenchmarkBatch posts a hundred visits a request.
func BenchmarkBatch(b *testing.B) {
	benchmarkPost(b, "/v1/visits", func(n int64) string {
		events := make([]string, 100)
		for i := range events {
			events[i] = fmt.Sprintf(`{"siteId":"site","guid":"guid-%d-%d","feature1":"a","feature2":"b"}`, n%50, i)
		}
		return "[" + strings.Join(events, ",") + "]"
	})
}

func benchmarkPost(b *testing.B, path string, body func(n int64) string) {
	b.Helper()
	d := startServer(b, startFake(b), func(cfg *configs.Producer) {
		cfg.Limits = configs.Limits{NewKeysPerMinute: 1 << 30, NewVisitorsPerMinute: 1 << 30, SitePerSecond: 1 << 30, SiteBurst: 1 << 30}
	})
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var sent atomic.Int64
	b.SetParallelism(8)
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			response, err := client.Post(d.url+path, "application/json", strings.NewReader(body(sent.Add(1))))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, response.Body)
			if _ = response.Body.Close(); response.StatusCode != http.StatusAccepted {
				b.Errorf("status %d", response.StatusCode)
				return
			}
		}
	})
}
