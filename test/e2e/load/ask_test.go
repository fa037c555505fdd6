package load

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// Every fifth request for a page is for one of its own, and what a page says of how far it reaches is its age.
func TestAsk(t *testing.T) {
	old := time.Now().Add(-time.Hour)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := fmt.Fprintf(w, `%s: Counted up to <time datetime="%s">`, r.URL, old.Format(time.RFC3339)); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	page := &Page{URL: server.URL + "/shared", Want: "Counted", Own: func(n int) string { return fmt.Sprintf("%s/own-%d", server.URL, n) }}
	silent := &Page{URL: server.URL + "/shared", Want: "nothing of the kind"}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	Ask(ctx, 10*time.Millisecond, page, silent)
	shared, own := len(page.Took), len(page.OwnTook)
	if all := shared + own; own == 0 || own != all/5 || len(page.Ages) != all || len(page.Errors) > 0 {
		t.Errorf("%d shared, %d of their own, %d ages, errors %v", shared, own, len(page.Ages), page.Errors)
	}
	if len(page.Ages) > 0 && (page.Ages[0] < time.Hour || page.Ages[0] > time.Hour+time.Minute) {
		t.Errorf("the page is %v old, want an hour", page.Ages[0])
	}
	if len(silent.Took) == 0 || len(silent.Errors) != len(silent.Took) || len(silent.OwnTook)+len(silent.Ages) > 0 {
		t.Errorf("%+v", silent)
	}
}
