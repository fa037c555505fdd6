//go:build unix

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/configs"
	"footfall/models"
	"footfall/reader/access"
	"footfall/test/harness"
)

// hostile is footfall of two tenants, as a process that others try to shut out, or read more from than they may.
type hostile struct {
	dir             string
	producer, admin string // addresses
	reader          string
	shared, revoked string // share links of the site shop
}

// The tenants' keys, which read and write.
const theirKey, ourKey, pageKey = "key of another tenant", "key of this tenant", "key of a page, which everybody reads"

func startHostile(t *testing.T, more ...string) *hostile {
	t.Helper()
	grants := fmt.Sprintf(`[{"site":"a*","links":"a*","key_hashes":["%x"]},{"site":"shop*","links":"shop*","key_hashes":["%x"]}`, sha256.Sum256([]byte(theirKey)), sha256.Sum256([]byte(ourKey)))
	page := fmt.Sprintf(`,{"site":"page","key_hashes":["%x"],"origins":["https://page.example"]}`, sha256.Sum256([]byte(pageKey)))
	h := &hostile{dir: t.TempDir()}
	secret := strings.Repeat("s", 32)
	signer, err := access.New(configs.ReadAccess{ShareSecrets: []string{secret}})
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range []*string{&h.shared, &h.revoked} {
		if *link, err = signer.Sign(access.Share{Site: "shop", Until: time.Now().Add(time.Hour)}, time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{
		"FOOTFALL_DATA_DIR=" + h.dir, "FOOTFALL_ACCESS_OPEN=false", "FOOTFALL_ACCESS_SITES=" + strings.Replace(grants, `"links":"shop*"`, `"links":"shop*","create_links":true`, 1) + page + "]", "FOOTFALL_ACCESS_READERS=" + grants + "]", "FOOTFALL_ACCESS_SHARE_SECRETS=" + secret,
		"FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_CONNECTIONS_PER_NETWORK=60", "FOOTFALL_LIMITS_NEW_KEYS_PER_MINUTE=0",
	}
	if *before == "" { // 9fccc09 does not know it
		env = append(env, "FOOTFALL_ACCESS_SHARE_REVOKED="+h.revoked)
	}
	greeting := greeted(t, "embedded", append(env, more...)...)
	h.producer, h.reader = found(t, `counts at http://(\S+),`, greeting), found(t, `in a browser: http://(\S+)`, greeting)
	h.admin = found(t, `Metrics are at http://([^/]+)/`, greeting)
	return h
}

// exchange sends a request over a connection of its own.
func exchange(method, addr, path, key, body string, headers ...string) (status int, text string, err error) {
	r, err := http.NewRequest(method, "http://"+addr+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	r.Close = true
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("Content-Type", "application/x-ndjson")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		r.Host = r.Header.Get("Host")
	}
	response, err := (&http.Client{Timeout: patience, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		return 0, "", err
	}
	all, err := io.ReadAll(response.Body)
	return response.StatusCode, string(all), errors.Join(err, response.Body.Close())
}

func clickOf(link string) string { return `{"short_url":"` + link + `","ip":"203.0.113.7"}` + "\n" }

// send sends clicks.
func (h *hostile) send(key, events string) error {
	status, text, err := exchange("POST", h.producer, "/v1/clicks", key, events)
	if err == nil && status != http.StatusAccepted {
		err = fmt.Errorf("%d %.300s", status, text)
	}
	return err
}

// readNothing asks over so many connections, without an end, and reads no answer. It returns when the process reads no more questions of any,
// because it waits for its answers to be read, or has closed them. They stay until the test ends.
func readNothing(t *testing.T, addr string, n int, path string) {
	t.Helper()
	request := []byte(strings.Repeat("GET "+path+" HTTP/1.1\r\nHost: localhost\r\n\r\n", 1+10_000/len(path)))
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10) })
	}}
	var all sync.WaitGroup
	for range n {
		conn, err := small.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		all.Go(func() {
			for err := error(nil); err == nil; _, err = conn.Write(request) {
				_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second)) // it is open
			}
		})
	}
	all.Wait()
}

// TestHostileClients: what one client does to a process shuts nobody else out, and shows and changes nothing that is not its own. With
// -args -before BINARY it asks another commit's.
func TestHostileClients(t *testing.T) {
	h := startHostile(t)
	answers := func(t *testing.T, addr, path, key string, status int, want string, headers ...string) {
		t.Helper()
		if got, text, err := exchange("GET", addr, path, key, "", headers...); got != status || !strings.Contains(text, want) {
			t.Errorf("%s: %d %.300s, %v; want %d %s", path, got, text, err, status, want)
		}
	}
	t.Run("a share link is revoked", func(t *testing.T) {
		answers(t, h.reader, "/v1/stats/sites/shop?share="+h.shared, "", 200, "unique")
		answers(t, h.reader, "/v1/stats/sites/shop?share="+h.revoked, "", 403, "revoked")
	})
	t.Run("names of other machines", func(t *testing.T) { // a page whose name leads to 127.0.0.1
		answers(t, h.reader, "/v1/stats/links/shop1", ourKey, 421, "wrong_host", "Host", "evil.example")
		answers(t, h.admin, "/metrics", "", 421, "", "Host", "evil.example")
	})
	t.Run("queries read only", func(t *testing.T) {
		for _, sql := range []string{"ATTACH '%s' AS x", "VACUUM INTO '%s'"} {
			file := filepath.Join(t.TempDir(), "stolen.db")
			cmd := self(t, "embedded", []string{"FOOTFALL_DATA_DIR=" + h.dir}, "query", fmt.Sprintf(sql, file))
			out, err := cmd.CombinedOutput()
			if _, there := os.Stat(file); cmd.ProcessState.ExitCode() != 2 || !errors.Is(there, fs.ErrNotExist) {
				t.Errorf("%s: %v %s, the file: %v", sql, err, out, there)
			}
		}
	})
	visits := func(events string) (int, string) {
		status, text, err := exchange("POST", h.producer, "/v1/visits", pageKey, events, "Origin", "https://page.example")
		if err != nil {
			t.Error(err)
		}
		return status, text
	}
	t.Run("days that a page's key makes up", func(t *testing.T) {
		if _, text := visits(fmt.Sprintf(`{"siteId":"page","guid":"g","ts":%d}`+"\n", time.Now().Add(-49*time.Hour).UnixMilli())); !strings.Contains(text, "too_old") {
			t.Error(text)
		}
	})
	t.Run("values that a page's key makes up", func(t *testing.T) {
		events := ""
		for i := range 1000 {
			events += fmt.Sprintf(`{"siteId":"page","guid":"g","feature1":"made up %d"}`+"\n", i)
		}
		status, text := visits(events)
		if reduced := strings.Count(text, `"reduced":"too_many_new_keys"`); status != http.StatusAccepted || reduced < 800 {
			t.Errorf("%d: %d of 1,000 made-up values count as (other)", status, reduced)
		}
	})
	t.Run("a minute's new names, used up", func(t *testing.T) {
		h := startHostile(t, "FOOTFALL_LIMITS_NEW_KEYS_PER_MINUTE=50")
		visits := func(site, key, guid string, n int) string {
			events := ""
			for i := range n {
				events += fmt.Sprintf(`{"siteId":"%s","guid":"%s","feature1":"%[2]s %d"}`+"\n", site, guid, i)
			}
			var headers []string
			if key == pageKey {
				headers = []string{"Origin", "https://page.example"}
			}
			status, text, err := exchange("POST", h.producer, "/v1/visits", key, events, headers...)
			if err != nil || status != http.StatusAccepted && status != http.StatusMultiStatus {
				t.Errorf("%s: %d %.300s, %v", guid, status, text, err)
			}
			return text
		}
		visits("page", pageKey, "made up", 55)
		if text := visits("page", pageKey, "honest", 1); !strings.Contains(text, `"reduced":"too_many_new_keys"`) || strings.Contains(text, "429") {
			t.Errorf("the visit of who comes after them: %.300s", text)
		}
		if text := visits("shop", ourKey, "of a service", 55); !strings.Contains(text, `"status":429`) {
			t.Errorf("a service is not told to send fewer: %.300s", text)
		}
	})
	t.Run("one client follows a link", func(t *testing.T) {
		const times = 700
		if status, text, err := exchange("POST", h.producer, "/v1/links", ourKey, `{"short_url":"shop-link","long_url":"https://shop.example/"}`, "Content-Type", "application/json"); status != http.StatusCreated {
			t.Fatal(status, text, err)
		}
		for range times {
			status, text, err := exchange("GET", h.producer, "/shop-link", "", "", "User-Agent", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0")
			if status != http.StatusFound {
				t.Fatal(status, text, err)
			}
		}
		harness.Within(t, 6*patience, "all are counted", func() error {
			_, text, err := exchange("GET", h.reader, "/v1/stats/links/shop-link", ourKey, "")
			var clicks, bots int
			if _, after, is := strings.Cut(text, `"clicks":`); is && err == nil {
				_, err = fmt.Sscanf(after, `%d,"unique":1,"bots":%d`, &clicks, &bots)
			}
			if clicks+bots < times {
				return fmt.Errorf("%s, %w", text, err)
			}
			if clicks < 500 || bots < 50 {
				t.Errorf("of %d clicks of one client %d count as a person's, %d as a bot's", times, clicks, bots)
			}
			return nil
		})
	})
	t.Run("events that push others' ids out", func(t *testing.T) {
		events := strings.Repeat(clickOf("shop1"), 1000)
		for sent := 0; ; sent += 1000 {
			if _, text, err := exchange("POST", h.producer, "/v1/clicks", ourKey, events); err != nil || strings.Contains(text, `"status":429`) {
				break
			}
			if sent == 50_000 {
				t.Fatal("nobody stops a key that sends 50,000 events to one partition at once")
			}
		}
	})
	t.Run("questions without a key take no place", func(t *testing.T) {
		readNothing(t, h.reader, 100, "/find?q="+strings.Repeat("x", 11<<10))
		answers(t, h.reader, "/v1/stats/links/shop1", ourKey, 200, "clicks")
	})
	t.Run("answers that nobody reads keep no connection", func(t *testing.T) {
		readNothing(t, h.producer, 60, "/openapi.yaml")
		harness.Within(t, 15*time.Second, "an event of a keyed sender of the same address is taken", func() error { return h.send(ourKey, clickOf("shop2")) })
	})
	t.Run("many links of one tenant", func(t *testing.T) {
		if testing.Short() || raceDetector {
			t.Skip("101,000 events take ten seconds, and minutes with the race detector: make test runs it without")
		}
		var group errgroup.Group // of another tenant's events, and then one of ours
		group.SetLimit(4)
		for batch := range 101 {
			events := ""
			for i := range 1000 {
				events += clickOf(fmt.Sprint("a", batch, "-", i))
			}
			group.Go(func() error { return h.send(theirKey, events) })
		}
		last := "shop" // of all names in the list
		for i := 0; models.NameBucket(last) != "f"; i++ {
			last = fmt.Sprint("shop", i)
		}
		if err := errors.Join(group.Wait(), h.send(ourKey, clickOf(last))); err != nil {
			t.Fatal(err)
		}
		harness.Within(t, 6*patience, "all are counted", func() error {
			_, text, err := exchange("GET", h.reader, "/v1/stats/links/"+last, ourKey, "")
			if !strings.Contains(text, `"clicks":1,`) || !strings.Contains(text, `"lag_events":0,`) {
				return fmt.Errorf("%s, %w", text, err)
			}
			return nil
		})
		_, text, err := exchange("GET", h.reader, "/", ourKey, "")
		if !strings.Contains(text, `href="/links/`+last+`"`) || strings.Contains(text, "No link that you may see was clicked") {
			t.Errorf("the first page lacks our link: %v %s", err, text)
		}
	})
}

// TestNoAdminAddress: with an empty http.admin_addr nothing listens for operators, also not where the default is.
func TestNoAdminAddress(t *testing.T) {
	if l, err := net.Listen("tcp", "127.0.0.1:8083"); err == nil {
		defer func() { _ = l.Close() }()
	} // else it is taken, too
	if greeting := greeted(t, "embedded"); strings.Contains(greeting, "Metrics") {
		t.Error(greeting)
	}
}
