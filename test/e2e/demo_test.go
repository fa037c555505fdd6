package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// The demo counts the last weeks of a shop, goes on, and ends with footfall.
func TestDemoShowsAShop(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, process.Command{Name: "demo", Path: binaries.Path(t, "simulator"), Args: []string{"demo", binaries.Path(t, "embedded")}, Dir: dir,
		Env: []string{"FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_READER_ADDR=127.0.0.1:0"}})
	url, err := p.Expect(patiently(t), looking)
	if err != nil {
		t.Fatal(err)
	}
	link, err := p.Expect(patiently(t), regexp.MustCompile(`75 days are sent, .* link (\S+)\.`))
	if err != nil {
		t.Fatal(err)
	}
	clicks := func() (n, lag int) {
		status, text := harness.Get(t, url+"/v1/stats/links/"+link)
		var said struct {
			Clicks int
			AsOf   struct {
				Lag int `json:"lag_events"`
			} `json:"as_of"`
		}
		if err := json.Unmarshal([]byte(text), &said); status != http.StatusOK || err != nil {
			t.Fatalf("%d %s", status, text)
		}
		return said.Clicks, said.AsOf.Lag
	}
	past := 0
	harness.Within(t, time.Minute, "the past is counted", func() error {
		var lag int
		if past, lag = clicks(); past < 5000 || lag > 0 {
			return fmt.Errorf("%d clicks, %d events are not counted yet", past, lag)
		}
		return nil
	})
	harness.Within(t, 5*time.Minute, "it goes on", func() error {
		if n, _ := clicks(); n <= past {
			return fmt.Errorf("%d clicks, as before", n)
		}
		return nil
	})
	stop(t, p)
	if _, err := http.Get(url); err == nil { //nolint:bodyclose // there is none
		t.Error("footfall goes on without its demo")
	}
	if left, err := filepath.Glob(filepath.Join(dir, "simulated", "*")); err != nil || len(left) > 0 {
		t.Errorf("the demo leaves %v: %v", left, err)
	}
}
