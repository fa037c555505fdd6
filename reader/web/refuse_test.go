package web

import (
	"testing"

	"footfall/reader/stats"
)

// TestWhatToAskInstead is ready to be put into a request.
func TestWhatToAskInstead(t *testing.T) {
	f := newFake()
	s := newServer(t, f, open, nil)
	ask := func(err error, status int, want string) {
		t.Helper()
		f.err = err
		if w := get(s, "/v1/stats/links/abc/series"); w.Code != status || w.Body.String() != want+"\n" {
			t.Errorf("%d %s, want %d %s", w.Code, w.Body, status, want)
		}
	}
	aligned := &stats.NotAligned{Unit: stats.Hour, Asked: stats.Range{From: millis("2018-10-03T14:30:00Z"), To: millis("2018-10-04")},
		Aligned: stats.Range{From: millis("2018-10-03T14"), To: millis("2018-10-04")}}
	ask(aligned, 422, `{"error":"not_aligned","detail":"`+aligned.Error()+`","instead":["from=2018-10-03T14&to=2018-10-04"]}`)
	ask(&stats.NotKept{Asked: "<x>", Instead: []string{"y", "z"}}, 422, `{"error":"not_kept","detail":"\u003cx\u003e is not kept","instead":["y","z"]}`)
	ask(&stats.TooMuch{Asked: "more than 120 months", Most: "120"}, 422, `{"error":"too_much","detail":"more than 120 months at once: ask for 120 at the most"}`)
	ask(&stats.Malformed{Field: "from, to", Detail: "want both"}, 400, `{"error":"bad_from","detail":"from, to: want both"}`)
}
