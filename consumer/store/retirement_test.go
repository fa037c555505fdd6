package store

import (
	"testing"
	"time"

	"footfall/models"
	"footfall/models/modelstest"
)

var visits0 = models.Partition{Topic: "visits", Number: 0}

func TestRetirementsAreFactsOfTheLog(t *testing.T) {
	f := func(r Retirement, p models.Partition, offset int64, e models.Event, wantRefused, wantPast bool) {
		t.Helper()
		list := Retirements{r}
		why := list.Refuse(p, offset, e)
		if (why != nil) != wantRefused || why != nil && why.Reason != models.ReasonIntervalRetired || list.Past(p, offset, e) != wantPast {
			t.Errorf("%+v, offset %d of %v: refused %v, past %v", r, offset, p, why, list.Past(p, offset, e))
		}
	}
	announced := Retirement{Before: modelstest.April, Topic: "visits"}
	decided := Retirement{Before: modelstest.April, Topic: "visits", From: map[int]int64{0: 10, 1: 0}}
	done := decided
	done.Done = true
	march, later := modelstest.VisitAt(time.March, 31), modelstest.VisitAt(time.April, 1)
	last, first := modelstest.VisitAt(time.March, 31), modelstest.VisitAt(time.April, 1)
	last.TS, first.TS = modelstest.April-1, modelstest.April
	f(announced, visits0, 10, march, false, false)
	f(decided, visits0, 10, last, true, false)
	f(decided, visits0, 10, first, false, false)
	f(decided, visits0, 9, march, false, false)
	f(decided, visits0, 10, march, true, false)
	f(decided, visits0, 10, later, false, false)
	f(decided, models.Partition{Topic: "visits", Number: 1}, 0, march, true, false)
	f(decided, models.Partition{Topic: "visits-2", Number: 0}, 0, march, true, false)
	f(decided, visits0, 10, &models.Click{TS: march.TS}, false, false)
	f(done, visits0, 9, march, false, true)
	f(done, visits0, 9, later, false, false)
	f(done, visits0, 10, march, true, false)
}

// A retirement refuses nothing in generations before the one it was decided in, and everything in later ones and on other topics.
func TestRetirementsReachLaterGenerations(t *testing.T) {
	r := Retirement{Before: modelstest.April, Topic: "visits-g2", From: map[int]int64{0: 5}}
	for at, want := range map[struct {
		topic  string
		offset int64
	}]bool{
		{"visits", 9}: false, {"visits-g2", 4}: false, {"visits-g2", 5}: true, {"visits-g3", 0}: true, {"other", 0}: true, {"other-g2", 0}: true,
	} {
		if got := r.reached(models.Partition{Topic: at.topic}, at.offset); got != want {
			t.Errorf("offset %d of %s is reached: %v, want %v", at.offset, at.topic, got, want)
		}
	}
}
