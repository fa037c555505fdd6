package main

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"footfall/embedded/broker"
	"footfall/test/harness"
)

// process is footfall as users run it.
type process struct {
	cmd *exec.Cmd
	url string
}

func launch(t *testing.T, dir string, env ...string) *process {
	t.Helper()
	cmd := harness.Self(t, "embedded", append([]string{"FOOTFALL_DATA_DIR=" + dir, "FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_READER_ADDR=127.0.0.1:0"}, env...))
	line := harness.Launch(t, cmd)
	return &process{cmd: cmd, url: regexp.MustCompile(`http://[0-9.:]+[0-9]`).FindString(line)}
}

// TestKill: kill -9 under load, four times. An event that got no 202 is sent again with the same id. In the end every event was answered
// 202 and is counted exactly once: each has a referrer or a feature of its own, so that its count can be seen.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	const events, kills, senders = 4000, 4, 16
	dir := t.TempDir()
	queue := make(chan int, events)
	for i := range events {
		queue <- i
	}
	var mu sync.Mutex
	accepted := 0
	p := launch(t, dir)
	for round := range kills + 1 {
		killAt, url, victim := events*(round+1)/(kills+2), p.url, p.cmd.Process
		var wg sync.WaitGroup
		var once sync.Once
		for range senders {
			wg.Go(func() {
				for {
					var i int
					select {
					case i = <-queue:
					default:
						return // nothing left
					}
					status, err := post(url, eventNumber(i))
					if err != nil || status != http.StatusAccepted {
						queue <- i
						if err != nil {
							return // killed
						}
						continue
					}
					mu.Lock()
					accepted++
					now := round < kills && accepted >= killAt
					mu.Unlock()
					if now {
						once.Do(func() { // at a random moment
							time.AfterFunc(rand.N(300*time.Millisecond), func() { _ = victim.Kill() })
						})
					}
				}
			})
		}
		wg.Wait()
		if round < kills {
			_ = p.cmd.Wait()
			t.Logf("killed with %d of %d accepted", accepted, events)
			p = launch(t, dir)
		}
	}
	if accepted != events {
		t.Fatalf("%d of %d accepted", accepted, events)
	}
	r := reader(t, dir)
	eventually(t, r, events*3/4, "SELECT sum(value) FROM urlshortener.clickcounter")
	eventually(t, r, events/4, "SELECT sum(visits) FROM cardinality.Counts WHERE metric_type = 'month_views' AND feature1 = '' AND feature2 = ''")
	terminate(t, p)
	for !drained(t, dir) { // an event that was sent twice may still be counted twice
		p = launch(t, dir)
		time.Sleep(time.Second)
		terminate(t, p)
	}
	for query, want := range map[string]int64{
		"SELECT sum(value) FROM urlshortener.clickcounter":                                                events * 3 / 4,
		"SELECT sum(value) FROM urlshortener.hourcounters":                                                events * 3 / 4,
		"SELECT sum(value) FROM urlshortener.daycounters":                                                 events * 3 / 4,
		"SELECT sum(value) FROM urlshortener.countrycounters":                                             events * 3 / 4,
		"SELECT sum(value) FROM urlshortener.monthcounters WHERE dimension = 'country'":                   events * 3 / 4,
		"SELECT sum(value) FROM urlshortener.monthcounters WHERE dimension = 'device'":                    events * 3 / 4,
		"SELECT count(*) FROM urlshortener.referrercounters":                                              events * 3 / 4,
		"SELECT max(value) FROM urlshortener.referrercounters":                                            1,
		"SELECT sum(value) FROM urlshortener.uniquecounter":                                               events * 3 / 4,
		"SELECT count(*) FROM urlshortener.uniquecounterips":                                              events * 3 / 4,
		"SELECT count(*) FROM cardinality.Counts WHERE metric_type = 'day_views' AND feature1 != ''":      events / 4,
		"SELECT max(visits) FROM cardinality.Counts WHERE metric_type = 'day_views' AND feature1 != ''":   1,
		"SELECT sum(visits) FROM cardinality.Counts WHERE metric_type = 'month_unique' AND feature1 = ''": events / 4,
		"SELECT sum(visits) FROM cardinality.Counts WHERE metric_type = 'week_unique' AND feature1 != ''": events / 4,
	} {
		if got := number(t, r, query); got != want {
			t.Errorf("%s: %d, want %d", query, got, want)
		}
	}
}

// eventNumber is the i-th event, always the same. Every fourth is a visit.
func eventNumber(i int) map[string]any {
	id := fmt.Sprintf("event-%d", i)
	at := time.Date(2018, 10, 1+i%20, i%24, 0, 0, 0, time.UTC).UnixMilli()
	if i%4 == 3 {
		return map[string]any{"id": id, "siteId": fmt.Sprintf("site-%d", i%5), "guid": id, "feature1": id, "ts": at}
	}
	return map[string]any{
		"id": id, "short_url": fmt.Sprintf("link-%d", i%7), "ip": fmt.Sprintf("10.0.%d.%d", i/256, i%256),
		"referrer": id, "country": "IT", "ts": at,
	}
}

func terminate(t *testing.T, p *process) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Fatalf("after SIGTERM: %v, want exit 0", err)
	}
}

// drained reports whether the consumer has read every record of the log.
func drained(t *testing.T, dir string) bool {
	t.Helper()
	b, err := broker.Start(t.Context(), filepath.Join(dir, "broker"), broker.Retention{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	table, err := reader(t, dir).Query(t.Context(), "SELECT sum(committed) FROM footfall.owners")
	if err != nil {
		t.Fatal(err)
	}
	end := int64(0)
	for _, n := range b.Ends("clicks", "visits") {
		end += n
	}
	t.Logf("the log has %d records, %s of them read", end, table.Rows[0][0])
	return table.Rows[0][0] == fmt.Sprint(end)
}

// TestSecondProcess: the lock keeps a second process out and is gone when the first has ended, even by kill -9.
func TestSecondProcess(t *testing.T) {
	dir := t.TempDir()
	p := launch(t, dir)
	unlock, err := lock(dir)
	if err == nil {
		_ = unlock()
	}
	wantError(t, err, "another footfall")
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.cmd.Wait()
	unlock, err = lock(dir)
	if err != nil {
		t.Fatalf("after kill -9: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

// TestListensForHTTPOnly: no socket of the process takes connections but those of the three addresses in its configuration: the broker has
// none that others could reach.
func TestListensForHTTPOnly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	p := launch(t, t.TempDir())
	mustPost(t, p.url, click("a", "203.0.113.7", "2018-10-01 14:05")) // everything is up
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, f := range files {
		if to, err := os.Readlink(proc + "fd/" + f.Name()); err == nil { // some are closed by now
			ours[to] = true
		}
	}
	var listening []string
	for table, columns := range map[string]struct {
		state, inode int
		listens      string
	}{"tcp": {3, 9, "0A"}, "tcp6": {3, 9, "0A"}, "unix": {3, 6, "00010000"}} {
		text, err := os.ReadFile(proc + "net/" + table)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if f := strings.Fields(line); len(f) > columns.inode && f[columns.state] == columns.listens && ours["socket:["+f[columns.inode]+"]"] {
				listening = append(listening, table+" "+f[1])
			}
		}
	}
	if len(listening) != 3 {
		t.Errorf("the process listens on %q, want the producer's, the reader's and the operators' address", listening)
	}
}
