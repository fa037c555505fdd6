package page

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

// minute is one in which events arrived, as a pulse tells it.
func minute(watched time.Duration) stats.Minute {
	m := stats.Minute{Since: today.Add(-watched), Read: today, Watched: min(watched, time.Minute), End: today.Add(time.Second)}
	for i := stats.Bars - int(m.Watched/time.Second); i < stats.Bars; i++ {
		m.Clicks.Bars[i] = int64(20 + 7*(i%5) - i%3)
		m.Visits.Bars[i] = int64(3 * (i % 7))
		m.Clicks.Counted, m.Visits.Counted = m.Clicks.Counted+m.Clicks.Bars[i], m.Visits.Counted+m.Visits.Bars[i]
	}
	return m
}

func TestTheLastMinute(t *testing.T) {
	f := func(m stats.Minute, who May, path string, wants ...string) (text string) {
		t.Helper()
		h := newHandler(reader(shared(t)), Options{Now: func() time.Time { return today }, Pulse: func() stats.Minute { return m }, Allow: func(*http.Request) (May, *Denied) { return who, nil }})
		_, text = get(t, h, path)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("no %s: %s", want, text)
			}
		}
		return text
	}
	const heading = "Taken in during the last minute"
	whole := minute(time.Hour)
	wants := []string{heading, `<span class="value">1,980</span>`, `<span class="value">522</span>`, "up to 48 a second", `role="img"`, "Most: 48 clicks in a second, at 14:02:40.",
		`<th scope="row">14:03:30 (may grow)</th><td class="n">46</td><td class="n">9</td>`, `<th scope="row">14:02:31</th>`}
	f(whole, everything{}, "/", wants...)
	f(whole, everything{}, "/?part=live", wants...)
	text := f(minute(10*time.Second), everything{}, "/", "watched for 10 seconds only")
	if strings.Contains(text, "14:03:19</th>") || !strings.Contains(text, "14:03:20</th>") {
		t.Errorf("seconds that nobody watched have numbers: %s", text)
	}
	stale := whole
	stale.Read = today.Add(-20 * time.Second)
	f(stale, everything{}, "/", "not read since 14:03:10 UTC")
	behind := whole
	behind.Clicks.Lag, behind.Visits.Lag = 3000, 12
	f(behind, everything{}, "/", "; 3,012 events more arrived that no consumer has taken in yet.")
	quiet := stats.Minute{Since: today, Read: today, Watched: time.Minute, End: today}
	f(quiet, everything{}, "/", heading, `<span class="ends note"><span>a minute ago</span><span>none</span>`, "No clicks.")
	empty := newHandler(reader(statstest.NewMemory(demoPlan(t))), Options{Now: func() time.Time { return today }, Pulse: func() stats.Minute { return quiet }})
	if _, text := get(t, empty, "/"); strings.Contains(text, heading) {
		t.Error("an empty store's first page has more than how to send a first event")
	}
	for what, text := range map[string]string{
		"nobody has read yet": f(stats.Minute{End: today}, everything{}, "/"), "a key for one site": f(whole, only("shop.example"), "/"), "another page": f(whole, everything{}, "/links/autumn-sale"),
	} {
		if strings.Contains(text, heading) {
			t.Errorf("%s: %s", what, text)
		}
	}
}
