package packed

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"footfall/consumer/eventlog"
	"footfall/models"
	"footfall/models/modelstest"
)

// text is a random one: often a repeated one, sometimes empty, sometimes long.
func text(rnd *rand.Rand, most int) string {
	switch rnd.IntN(6) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("ä", rnd.IntN(most/2+1))
	case 2:
		return fmt.Sprint(rnd.Uint64())
	}
	return fmt.Sprint("t", rnd.IntN(5))
}

var plans = func() (out []*models.Plan) {
	for n := 1; n <= models.MaxFeatures; n++ {
		var names []string
		for i := range n {
			names = append(names, fmt.Sprint("f", i))
		}
		plan, err := models.NewPlan(names, models.AllMetrics()[:1+n%6])
		if err != nil {
			panic(err)
		}
		out = append(out, plan)
	}
	return append(out, nil)
}()

func randomEvent(rnd *rand.Rand) models.Event {
	ts := models.Earliest + models.Millis(rnd.Int64N(1<<40))
	if rnd.IntN(2) == 0 {
		c := &models.Click{
			V: rnd.IntN(3), ID: text(rnd, models.MaxID), ShortURL: text(rnd, models.MaxShortURL), IP: text(rnd, models.MaxIP),
			Country: text(rnd, 2), TS: ts, Referrer: text(rnd, models.MaxReferrer), Bot: rnd.IntN(4) == 0,
			Plan: plans[rnd.IntN(len(plans))],
		}
		if rnd.IntN(3) == 0 {
			amount := rnd.Int64N(2*models.MaxAmount+1) - models.MaxAmount
			c.Amount = &amount
		}
		if rnd.IntN(2) == 0 {
			for _, name := range c.Names() {
				*name = text(rnd, models.MaxAgentName)
			}
		}
		return c
	}
	v := &models.Visit{V: rnd.IntN(3), ID: text(rnd, models.MaxID), SiteID: text(rnd, models.MaxSiteID), GUID: text(rnd, models.MaxGUID), TS: ts}
	v.Plan = plans[rnd.IntN(len(plans))]
	n := 2
	if v.Plan != nil {
		n = len(v.Plan.Features())
	}
	for range n {
		v.Features = append(v.Features, text(rnd, models.MaxFeature))
	}
	return v
}

// without returns a copy of an event as a list without IDs gives it back.
func without(event models.Event) models.Event {
	if c, ok := event.(*models.Click); ok {
		stripped := *c
		stripped.ID = ""
		return &stripped
	}
	stripped := *event.(*models.Visit)
	stripped.ID = ""
	return &stripped
}

// randomList is a list, and the same events as they were.
func randomList(rnd *rand.Rand, ids bool, n int) (*Events, []eventlog.Counted) {
	list, plain := New(ids), make([]eventlog.Counted, 0, n)
	next := map[models.Partition]int64{}
	for range n {
		p := models.Partition{Topic: []string{"clicks", "visits-g2"}[rnd.IntN(2)], Number: rnd.IntN(40)}
		next[p] += 1 + rnd.Int64N(1<<rnd.IntN(40))
		event := randomEvent(rnd)
		list.Add(p, next[p], event)
		if !ids {
			event = without(event)
		}
		plain = append(plain, eventlog.Counted{Partition: p, Offset: next[p], Event: event})
	}
	return list, plain
}

// decide decides at random.
func decide(rnd *rand.Rand, list *Events, plain []eventlog.Counted) {
	list.Decide(func(i int, one *eventlog.Counted, first []bool) []bool {
		for range one.Event.Sightings() {
			first = append(first, rnd.IntN(2) == 0)
		}
		plain[i].First = append([]bool{}, first...)
		return first
	})
}

// wantSame compares every field of every event.
func wantSame(t *testing.T, list *Events, plain []eventlog.Counted) {
	t.Helper()
	n := 0
	for i, one := range list.All() {
		if i != n || !reflect.DeepEqual(*one, plain[i]) {
			t.Fatalf("event %d, at place %d: %+v %+v, want %+v %+v", i, n, one, one.Event, plain[i], plain[i].Event)
		}
		n++
	}
	if n != len(plain) || list.Len() != n {
		t.Fatalf("%d events, Len %d, want %d", n, list.Len(), len(plain))
	}
}

func TestEventsComeBackAsTheyWere(t *testing.T) {
	for seed := range uint64(30) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		list, plain := randomList(rnd, seed%2 == 0, rnd.IntN(3000))
		wantSame(t, list, plain)
		for range 2 { // decided again, otherwise
			decide(rnd, list, plain)
			wantSame(t, list, plain)
		}
		kept := list.Select(func(i int, _ *eventlog.Counted) bool { return i%3 > 0 })
		var third []eventlog.Counted
		for i, one := range plain {
			if i%3 > 0 {
				third = append(third, one)
			}
		}
		wantSame(t, kept, third)
		wantSame(t, list, plain)
	}
}

// Every declared field comes back, with all others and where one of these is absent. The user agent does not: nothing counts it.
func TestEveryFieldComesBack(t *testing.T) {
	plan := models.DefaultPlan()
	f := func(fields []models.Field, absent string, read func([]byte) (models.Event, error)) {
		t.Helper()
		event, err := read(modelstest.Message(fields, absent))
		if err != nil {
			t.Fatal(err)
		}
		list, want := New(true), modelstest.Message(fields, absent, "ua")
		list.Add(models.Partition{Topic: "t"}, 7, event)
		for _, one := range list.All() {
			if got, err := models.AppendEvent(nil, one.Event); string(got) != string(want) {
				t.Errorf("comes back as %s, %v; want %s", got, err, want)
			}
		}
	}
	for _, field := range append(slices.Concat(models.ClickFields, plan.Fields()), models.Field{}) {
		if !field.Required {
			f(models.ClickFields, field.Name, func(data []byte) (models.Event, error) { return models.UnmarshalClick(data, true) })
			f(plan.Fields(), field.Name, plan.DecodeVisit)
		}
	}
}

// A list grows and is decided by turns, as a chunk does.
func TestWhatFollowsIsDecidedAlone(t *testing.T) {
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 2))
		_, more := randomList(rnd, true, 2000)
		list, plain := New(true), []eventlog.Counted{}
		for _, one := range more {
			list.Add(one.Partition, one.Offset, one.Event)
			plain = append(plain, one)
			if rnd.IntN(300) == 0 {
				from := list.Decided()
				wantSame(t, list.After(from), plain[from:])
				decide(rnd, list.After(from), plain[from:])
				if none := list.After(len(plain)); list.Decided() != len(plain) || none.Len() != 0 || none.Cost() != 0 {
					t.Fatalf("%d of %d are decided", list.Decided(), len(plain))
				}
			}
		}
		wantSame(t, list, plain)
		wantSame(t, list.After(0), plain)
		if got := list.After(0).Cost(); got != list.Cost() {
			t.Errorf("all cost %d, want %d", got, list.Cost())
		}
	}
}

func TestPartsAreTheWhole(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	list, plain := randomList(rnd, true, 5000)
	decide(rnd, list, plain)
	at, parts := 0, 0
	for part := range list.Parts(list.Cost() / 5) {
		wantSame(t, part, plain[at:at+part.Len()])
		decide(rnd, part, plain[at:])
		at += part.Len()
		parts++
	}
	if at != len(plain) || parts < 2 || parts > 5 {
		t.Errorf("%d parts have %d events, want %d", parts, at, len(plain))
	}
	wantSame(t, list, plain)
	for range New(false).Parts(10) {
		t.Error("an empty list has a part")
	}
}

// A part has many clicks, or few visits with many features.
func TestAPartHasMoreClicksThanVisits(t *testing.T) {
	f := func(what string, cost int, event func(i int) models.Event) {
		t.Helper()
		list := New(false)
		list.Add(models.Partition{Topic: "t"}, 0, event(0))
		if list.Cost() != cost {
			t.Errorf("one of the %s costs %d, want %d", what, list.Cost(), cost)
		}
		for i := range 100_000 {
			list.Add(models.Partition{Topic: "t"}, int64(i+1), event(i))
		}
		blocks := 0
		for _, b := range list.blocks {
			blocks = max(blocks, b.cost)
		}
		for part := range list.Parts(100_000) {
			if got := part.Len() * cost; got < 100_000 || got > 100_000+blocks {
				t.Errorf("a part of %s costs %d, want 100,000 and a block more at the most", what, got)
			}
			return
		}
	}
	visit := func(features int) func(i int) models.Event {
		return func(i int) models.Event {
			return &models.Visit{V: 1, SiteID: "a", GUID: fmt.Sprint(i), Features: make([]string, features)}
		}
	}
	f("clicks", 3, func(i int) models.Event { return &models.Click{V: 1, ShortURL: "a", IP: fmt.Sprint(i)} })
	f("visits with two features", 12, visit(2))
	f("visits with six features", 192, visit(6))
}

// What Bytes says is what is bounded: it must be no less than two thirds of the truth, and no more than one and a half.
func TestBytesAreThoseOfTheHeap(t *testing.T) {
	f := func(name string, most int, event func(i int) models.Event) {
		t.Helper()
		const n = 100_000
		list := New(false)
		before := live()
		for i := range n {
			list.Add(models.Partition{Topic: "t", Number: i % 6}, int64(i), event(i))
		}
		is := live() - before
		if says := list.Bytes(); says < is*2/3 || says > is*3/2 || is/n > most {
			t.Errorf("%s: %d bytes an event, want %d at most; Bytes says %d", name, is/n, most, says/n)
		}
	}
	f("clicks", 40, func(i int) models.Event {
		return &models.Click{ShortURL: fmt.Sprintf("l%06d", i%20_000), IP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), Country: "IT", TS: models.Millis(i),
			Agent: models.Agent{Browser: models.Browsers[i%9], System: models.Systems[i%7], Device: models.Devices[i%4]}}
	})
	f("names of agents that others write", 320, func(i int) models.Event {
		return &models.Click{ShortURL: "abc", IP: "10.0.0.1", Agent: models.Agent{Browser: fmt.Sprintf("%064d", i), System: "Linux", Device: "desktop"}, TS: models.Millis(i)}
	})
	f("a link each", 160, func(i int) models.Event {
		return &models.Click{ShortURL: fmt.Sprintf("l%06d", i), IP: "10.0.0.1", Country: "IT", TS: models.Millis(i)}
	})
	f("visits", 64, func(i int) models.Event {
		return &models.Visit{SiteID: fmt.Sprint("site", i%300), GUID: fmt.Sprintf("%036d", i), Features: []string{"google.com", fmt.Sprint("/page", i%50)}}
	})
}

// live is what the heap holds.
func live() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
