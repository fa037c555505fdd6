package page

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestNumbersOfAnotherPageAreDropped: a poll is under way when somebody goes on to another page. Its answer comes late, and must not appear
// there.
func TestNumbersOfAnotherPageAreDropped(t *testing.T) {
	ctx := openBrowser(t)
	polled, release, polls := make(chan struct{}, 100), make(chan struct{}), make(chan struct{}, 100)
	inner := newHandler(reader(shared(t)), Options{Now: func() time.Time { return today }})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/sites/nobody.example":
			polls <- struct{}{}
		case r.URL.Query().Get("part") == "live":
			polled <- struct{}{}
			<-release
		}
		inner.ServeHTTP(w, r)
	}))
	defer server.Close()
	arrives := func(what string, c chan struct{}) {
		t.Helper()
		select {
		case <-c:
		case <-time.After(20 * time.Second):
			t.Fatal(what)
		}
	}
	looks[0].take(t, ctx, server.URL+"/sites/shop.example")
	evaluate[any](t, ctx, `sessionStorage.setItem("footfall-read-key", "x")`)
	looks[0].take(t, ctx, server.URL+"/sites/shop.example")
	shop := evaluate[string](t, ctx, `document.querySelector("#live .tiles").innerText`)
	for len(polled) > 0 {
		<-polled
	}
	arrives("the page does not ask again", polled)
	evaluate[any](t, ctx, `const l = document.createElement("a"); l.href = "/sites/nobody.example?period=2018-01"; document.querySelector("main").append(l); l.click()`)
	until(t, ctx, "the other page", `document.querySelector("h1").innerText === "nobody.example"`)
	close(release)
	for range 3 { // when the page is opened, and two polls: by the second one the late answer has been read
		arrives("the other page does not ask", polls)
		if live := evaluate[string](t, ctx, `document.querySelector("#live")?.innerText ?? ""`); shop != "" && strings.Contains(live, shop) {
			t.Fatalf("nobody.example shows the numbers of shop.example: %q", live)
		}
	}
}
