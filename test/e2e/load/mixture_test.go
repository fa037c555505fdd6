package load

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"footfall/models"
)

func TestTheSameSeedMakesTheSameEvents(t *testing.T) {
	if !reflect.DeepEqual(Make(7, 500), Make(7, 500)) {
		t.Error("the same seed made different events")
	}
	if reflect.DeepEqual(Make(7, 500), Make(8, 500)) {
		t.Error("two seeds made the same events")
	}
}

// The mixture contains every kind of event that makes counting hard.
func TestTheMixtureHasEverything(t *testing.T) {
	had := map[string]int{}
	latest := models.Millis(0)
	for _, e := range Make(1, 20_000) {
		ts := models.Millis(0)
		if c := e.Click; c != nil {
			ts = c.TS
			count(had, map[string]bool{
				"bot": c.Bot, "no country": c.Country == "", "no referrer": c.Referrer == "", "ip " + c.IP + " again": true,
				"IPv6": strings.Contains(c.IP, ":"), "IPv4": strings.Contains(c.IP, "."), "click": true,
				"another notation": e.IP != "" && e.IP != c.IP, "small letters": e.Country != "" && e.Country != c.Country,
			})
		} else {
			v := e.Visit
			ts = v.TS
			count(had, map[string]bool{
				"form": e.Form, "in URL": e.InURL, "json": !e.Form, "no feature": v.Features[0]+v.Features[1] == "",
				"first only": v.Features[0] != "" && v.Features[1] == "", "second only": v.Features[0] == "" && v.Features[1] != "",
				"both": v.Features[0] != "" && v.Features[1] != "", "odd": v.Features[0] == "例え.jp",
			})
		}
		at := time.UnixMilli(int64(ts)).UTC()
		_, week := at.ISOWeek()
		count(had, map[string]bool{
			"late":                    ts < latest-24*3600*1000,
			"full hour":               ts%3_600_000 == 0,
			"last ms":                 ts%3_600_000 == 3_599_999,
			"week 44 in October":      week == 44 && at.Month() == time.October,
			"week 44 in November":     week == 44 && at.Month() == time.November,
			"week of another year":    week == 1 && at.Month() == time.December,
			"week 1 in January":       week == 1 && at.Month() == time.January,
			"last week of a year":     week == 52,
			"on the edge of November": ts == models.Millis(time.Date(2018, 11, 1, 0, 0, 0, 0, time.UTC).UnixMilli()),
		})
		latest = max(latest, ts)
	}
	again := 0
	for name, n := range had {
		if strings.HasPrefix(name, "ip ") {
			if n > 1 {
				again++
			}
			continue
		}
		if n == 0 {
			t.Errorf("no event of the kind %q", name)
		}
	}
	if again < 100 {
		t.Errorf("%d visitors came again, want many", again)
	}
}

func count(had map[string]int, is map[string]bool) {
	for name, yes := range is {
		had[name] += map[bool]int{true: 1}[yes]
	}
}

func TestAllEventsAreValid(t *testing.T) {
	for _, e := range Make(3, 5000) {
		var event models.Event
		if e.Visit != nil {
			v := *e.Visit
			v.V, event = models.Version, &v
		} else {
			c := *e.Click
			c.V, event = models.Version, &c
		}
		if err := event.Validate(); err != nil {
			t.Fatalf("%+v: %v", event, err)
		}
	}
}

func TestOrderSendsEachOnceAndSomeTwice(t *testing.T) {
	const n = 10_000
	times := make([]int, n)
	atOnce, later := 0, 0
	last := map[int]int{}
	for place, i := range Order(1, n) {
		times[i]++
		if before, again := last[i]; again && place == before+1 {
			atOnce++
		} else if again {
			later++
		}
		last[i] = place
	}
	for i, k := range times {
		if k < 1 || k > 2 {
			t.Fatalf("event %d is sent %d times", i, k)
		}
	}
	if atOnce < n/200 || later < n/100 || atOnce+later > n/20 {
		t.Errorf("%d copies at once and %d later, of %d", atOnce, later, n)
	}
}
