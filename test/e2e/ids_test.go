package e2e

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"footfall/models"
	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
)

// once is the time of all events, in milliseconds. It is a whole second, since forms have no milliseconds.
const once, onceInSeconds = 1538352000000, "1538352000"

// way is one kind of request that sends an event under an id. ID, NAME and TIME are replaced.
type way struct {
	name, method, path, media, body string
	header                          bool // the id is sent as Idempotency-Key
}

var ways = []way{
	{"click-header", "POST", "/v1/clicks", "application/json", `{"short_url":"NAME","ip":"127.0.0.1","ts":TIME000}`, true},
	{"click-field", "POST", "/v1/clicks", "application/json", `{"id":"ID","short_url":"NAME","ip":"127.0.0.1","ts":TIME000}`, false},
	{"click-both", "POST", "/v1/clicks", "application/json", `{"id":"ID","short_url":"NAME","ip":"127.0.0.1","ts":TIME000}`, true},
	{"click-batch", "POST", "/v1/clicks", "application/json", `[{"id":"ID","short_url":"NAME","ip":"127.0.0.1","ts":TIME000},{"id":"ID","short_url":"NAME","ip":"127.0.0.1","ts":TIME000}]`, false},
	{"click-lines", "POST", "/v1/clicks", "application/x-ndjson", `{"id":"ID","short_url":"NAME","ip":"127.0.0.1","ts":TIME000}` + "\n" + `{"id":"ID","short_url":"NAME","ip":"127.0.0.1","ts":TIME000}`, false},
	{"click-pixel", "GET", "/pixel.gif?short_url=NAME&timestamp=TIME&id=ID", "", "", false},
	{"click-pixel-header", "GET", "/pixel.gif?short_url=NAME&timestamp=TIME", "", "", true},
	{"visit-header", "POST", "/v1/visits", "application/json", `{"siteId":"NAME","guid":"g","ts":TIME000}`, true},
	{"visit-field", "POST", "/v1/visits", "application/json", `{"id":"ID","siteId":"NAME","guid":"g","ts":TIME000}`, false},
	{"visit-batch", "POST", "/v1/visits", "application/json", `[{"id":"ID","siteId":"NAME","guid":"g","ts":TIME000},{"id":"ID","siteId":"NAME","guid":"g","ts":TIME000}]`, false},
	{"visit-lines", "POST", "/v1/visits", "application/x-ndjson", `{"id":"ID","siteId":"NAME","guid":"g","ts":TIME000}`, false},
	{"visit-form", "POST", "/track?siteId=NAME", "application/x-www-form-urlencoded", "guid=g&timestamp=TIME&id=ID", false},
	{"visit-form-header", "POST", "/track", "application/x-www-form-urlencoded", "siteId=NAME&guid=g&timestamp=TIME", true},
	{"visit-beacon", "POST", "/track?siteId=NAME", "text/plain;charset=UTF-8", "guid=g&timestamp=TIME&id=ID", false},
	{"visit-pixel", "GET", "/pixel.gif?siteId=NAME&guid=g&timestamp=TIME&id=ID", "", "", false},
	{"visit-pixel-header", "GET", "/pixel.gif?siteId=NAME&guid=g&timestamp=TIME", "", "", true},
}

// TestTheSameIDCountsOnce: an id counts once, however it is sent, but every tenant has ids of its own. Both share one deployment, since
// Cassandra takes long to make a schema.
func TestTheSameIDCountsOnce(t *testing.T) {
	onEach(t, func(t *testing.T, d deployment) {
		want := oracle.New()
		sendAgain(t, d, want)
		sendAsTenants(t, d, want)
		d.settle(t, want)
		equal(t, want.Cells(), d.dump(t))
	})
}

// person is the user agent of whoever sends.
const person = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// sendAgain sends an id several times in requests of every kind, and one id in requests of all kinds, each of which counts once. An event
// with another id counts too, which shows that the id decides.
func sendAgain(t *testing.T, d deployment, want *oracle.Oracle) {
	t.Helper()
	send := func(w way, name, id string) {
		w.send(t, d.producerURL(), name, id)
		if strings.HasPrefix(w.name, "click") {
			c := &models.Click{V: 1, ID: id, ShortURL: name, IP: "127.0.0.1", TS: once}
			if strings.HasPrefix(w.name, "click-pixel") { // its sender is the visitor
				load.Tells(c, person)
			}
			want.Click(c)
		} else {
			want.Visit(&models.Visit{V: 1, ID: id, SiteID: name, GUID: "g", TS: once, Features: []string{"", ""}})
		}
	}
	for _, w := range ways {
		for _, id := range []string{"one", "one", "two", "one"} {
			send(w, w.name, id)
		}
		kind, _, _ := strings.Cut(w.name, "-")
		send(w, "every-"+kind, "same")
	}
	if want.Clicks != 2*7+1 || want.Visits != 2*9+1 {
		t.Fatalf("the oracle counts %d clicks and %d visits", want.Clicks, want.Visits)
	}
}

// sendAsTenants sends events of three sites and three links, which number their events from 0 and have visitors with the same names. All
// of them count.
func sendAsTenants(t *testing.T, d deployment, want *oracle.Oracle) {
	t.Helper()
	const events = 600
	visitsBefore, clicksBefore := want.Visits, want.Clicks
	for _, name := range []string{"hostile", "good", "third"} {
		var visits, clicks []string
		for id := range events {
			guid, ip := fmt.Sprint("guid", id%40), fmt.Sprint("198.51.100.", id%40)
			visits = append(visits, fmt.Sprintf(`{"id":"%d","siteId":%q,"guid":%q,"ts":%d}`, id, name, guid, once))
			clicks = append(clicks, fmt.Sprintf(`{"id":"%d","short_url":%q,"ip":%q,"ts":%d}`, id, name, ip, once))
			want.Visit(&models.Visit{V: 1, ID: fmt.Sprint(id), SiteID: name, GUID: guid, TS: once, Features: []string{"", ""}})
			want.Click(&models.Click{V: 1, ID: fmt.Sprint(id), ShortURL: name, IP: ip, TS: once})
		}
		for path, lines := range map[string][]string{"/v1/visits": visits, "/v1/clicks": clicks} {
			way{name: path, method: "POST", path: path, media: "application/x-ndjson", body: strings.Join(lines, "\n")}.send(t, d.producerURL(), name, "")
		}
	}
	if visits, clicks := want.Visits-visitsBefore, want.Clicks-clicksBefore; visits != 3*events || clicks != 3*events {
		t.Fatalf("the oracle counts %d visits and %d clicks", visits, clicks)
	}
}

func (w way) send(t *testing.T, producer, name, id string) {
	t.Helper()
	fill := strings.NewReplacer("NAME", name, "ID", id, "TIME", onceInSeconds).Replace
	request, err := http.NewRequestWithContext(t.Context(), w.method, producer+fill(w.path), strings.NewReader(fill(w.body)))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("User-Agent", person)
	if w.media != "" {
		request.Header.Set("Content-Type", w.media)
	}
	if w.header {
		request.Header.Set("Idempotency-Key", id)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusAccepted && response.StatusCode != http.StatusOK {
		t.Fatalf("%s under id %s: %s %s", w.name, id, response.Status, answer)
	}
}
