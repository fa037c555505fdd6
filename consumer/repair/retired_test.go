package repair

import (
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

var visits0 = models.Partition{Topic: "visits", Number: 0}

// A key whose repair would need rows of retired visitors is not repaired; the other keys are.
func TestNoRepairWithoutVisitorsRows(t *testing.T) {
	m := memstore.New()
	m.Told.Retirements = []store.Retirement{{Before: modelstest.April, Topic: "visits", From: map[int]int64{0: 100}, Done: true}}
	c := &Checker{Doubter: Doubter{Store: m}}
	f := func(want bool, v *models.Visit) {
		t.Helper()
		retired, err := c.decide(t.Context(), []*eventlog.Counted{{Partition: visits0, Offset: 1, Event: v}})
		if err != nil || retired[1] != want {
			t.Errorf("%v: %v, %v", v.TS.Time(), retired, err)
		}
	}
	f(true, modelstest.VisitAt(time.March, 5))
	f(true, modelstest.VisitAt(time.March, 31)) // its week is not over by April, but its day is
	f(false, modelstest.VisitAt(time.April, 1))

	click := func(offset int64, link string) *eventlog.Counted {
		return &eventlog.Counted{Partition: visits0, Offset: offset, Event: &models.Click{ShortURL: link}}
	}
	march, later := models.Key{Keyspace: models.URLShortener, Name: "march"}, models.Key{Keyspace: models.URLShortener, Name: "later"}
	broken := map[models.Key][]Excess{march: {{Span: eventlog.Span{From: 0, To: 3}, N: 1}}, later: {{Span: eventlog.Span{From: 0, To: 3}, N: 1}}}
	events := []*eventlog.Counted{click(1, "march"), click(2, "march"), click(2, "later"), click(7, "later")}
	if err := dropBlind(broken, events, map[int64]bool{1: true, 7: true}); !eventlog.IsRefusal(err) || len(broken) != 1 || broken[later] == nil {
		t.Errorf("%v, left to repair: %v", err, broken)
	}
	if err := dropBlind(broken, events, nil); err != nil || len(broken) != 1 {
		t.Errorf("with nobody retired: %v, left to repair: %v", err, broken)
	}
}

// A check must not take a refused visit for one that was counted.
func TestChecksLeaveOutRefusedVisits(t *testing.T) {
	m := memstore.New()
	m.Told.Retirements = []store.Retirement{{Before: modelstest.April, Topic: "visits", From: map[int]int64{0: 4}}}
	h, err := testChecker(m, visitsLog(6)).hold(t.Context(), visits0, reread(eventlog.Span{From: 2, To: 6}))
	if err != nil || len(h.events) != 2 || h.events[1].Offset != 3 {
		t.Errorf("%d events, %v; want those below 4", len(h.events), err)
	}
}
