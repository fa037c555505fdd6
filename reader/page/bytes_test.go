package page

import (
	"fmt"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"footfall/models"
	"footfall/reader/stats/statstest"
)

// TestBytesOfKeptPages: 250 pages of a site with long values, asked for at once, take little memory. Of each only its bytes are kept, and
// all are forgotten when these are too many.
func TestBytesOfKeptPages(t *testing.T) {
	m := statstest.NewMemory(demoPlan(t))
	for day := range 32 {
		for i := range 101 {
			value := strings.Repeat("%", 1000) + fmt.Sprint(i)
			m.Add(&models.Visit{SiteID: "s", GUID: fmt.Sprint(i), TS: models.Millis(today.AddDate(0, 0, -day).UnixMilli()), Features: []string{value, value}})
		}
	}
	h := newPage(m)
	before := heap()
	for i := range 250 {
		q := url.Values{"show": {[]string{"page", "referrer"}[i%2]}, "metric": {[]string{"views", "unique"}[i/2%2]}, "period": {today.AddDate(0, 0, -(i/4)%32).Format("2006-01-02")}}
		if i >= 128 {
			q.Set("part", "live")
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, httptest.NewRequest("GET", "/sites/s?"+q.Encode(), nil)); w.Code != 200 {
			t.Fatal(w.Code, w.Body)
		}
	}
	if after := heap(); after > before+48<<20 {
		t.Errorf("pages and rankings keep %d MB", (after-before)>>20)
	}
	runtime.KeepAlive(h)
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one has moved to the victims of pools
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}
