package intake

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/answer"
)

// TestNewVisitorsOfABatch: events that could not be parsed do not count as new visitors. Of the others, those above the limit are refused,
// in order, and the rest goes to Kafka.
func TestNewVisitorsOfABatch(t *testing.T) {
	const most, all, bad = 37, 96, 7
	d := newTestServer(t)
	d.access, d.limits = &admission.Access{Open: true}, admission.NewLimits(configs.Limits{NewVisitorsPerMinute: most})
	from := sender{request: httptest.NewRequest(http.MethodPost, "/", nil)}
	for range 2 {
		drafts, outcomes := make([]draft, all), make([]outcome, all)
		for i := range drafts {
			drafts[i].event = &models.Visit{ID: fmt.Sprint("id", i), SiteID: "s", GUID: fmt.Sprint(i), TS: models.Absent, Features: []string{"", ""}, Plan: models.DefaultPlan()}
		}
		drafts[bad] = draft{} // could not be read
		outcomes[bad].err = &answer.Refusal{Reason: answer.Internal}
		events, index := d.judge(from, drafts, outcomes)
		if len(events) != most || len(index) != most {
			t.Errorf("%d events of %d go to Kafka, want %d", len(events), len(index), most)
		}
		for i, at := range index {
			if events[i] != drafts[at].event {
				t.Errorf("event %d is not that of draft %d", i, at)
			}
		}
		for i, o := range outcomes {
			want, id := "", fmt.Sprint("id", i)
			switch {
			case i == bad:
				want, id = answer.Internal, ""
			case i > most: // not i >= most, since the bad one does not count
				want, id = answer.TooManyNewVisitors, ""
			}
			if got := reason(o.err); got != want || o.id != id {
				t.Errorf("event %d: %q %q, want %q %q (%v)", i, got, o.id, want, id, o.err)
			}
		}
	}
}
