package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"footfall/configs"
	"footfall/models"
	"footfall/models/modelstest"
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

// TestFieldsAreFilledInAsDeclared: a sender may give each field that is not the producer's. A required one that is left out is refused, or
// filled in if its declaration says so.
func TestFieldsAreFilledInAsDeclared(t *testing.T) {
	d := newTestServer(t)
	d.access, d.limits, d.cfg.Privacy.KeepUserAgent = &admission.Access{Open: true}, admission.NewLimits(configs.Limits{}), true
	visitsOf := visits{models.DefaultPlan()}
	// take returns what would be in Kafka.
	take := func(one draft, err error) (map[string]json.RawMessage, error) {
		if err != nil {
			return nil, err
		}
		outcomes := make([]outcome, 1)
		events, _ := d.judge(sender{request: httptest.NewRequest(http.MethodPost, "/", nil)}, []draft{one}, outcomes)
		if len(events) == 0 {
			return nil, outcomes[0].err
		}
		text, err := models.AppendEvent(nil, events[0])
		fields := map[string]json.RawMessage{}
		return fields, errors.Join(err, json.Unmarshal(text, &fields))
	}
	for _, kind := range []struct {
		fields []models.Field
		parse  func([]byte) (draft, error)
	}{{models.ClickFields, parseClick}, {models.DefaultPlan().Fields(), visitsOf.parseJSON}} {
		ours := func(f models.Field) bool { return f.By == models.ByProducer }
		theirs := slices.DeleteFunc(slices.Clone(kind.fields), ours)
		all, err := take(kind.parse(modelstest.Message(theirs)))
		inForm := url.Values{}
		for _, f := range kind.fields {
			switch without, missing := take(kind.parse(modelstest.Message(theirs, f.Name))); {
			case ours(f):
				if _, got := take(kind.parse(modelstest.Message(append(slices.Clone(theirs), f)))); !strings.HasPrefix(fmt.Sprint(got), models.ReasonUnknownField) {
					t.Errorf("%s, which is the producer's, is taken from a sender: %v", f.Name, got)
				}
				if filled, err := take(kind.parse(modelstest.Message(theirs, "bot"))); string(filled[f.Name]) != f.Example {
					t.Errorf("the producer finds %s to be %s, %v; want %s", f.Name, filled[f.Name], err, f.Example)
				}
				continue
			case err != nil || string(all[f.Name]) != f.Example:
				t.Errorf("%s is %s, %v; sent was %s", f.Name, all[f.Name], err, f.Example)
			case f.Required && f.By == models.BySender:
				if !strings.HasPrefix(fmt.Sprint(missing), "missing_") {
					t.Errorf("without %s: %v", f.Name, missing)
				}
			case missing != nil || f.Required && without[f.Name] == nil:
				t.Errorf("without %s: %v, %v", f.Name, without, missing)
			}
			if value := strings.Trim(f.Example, `"`); f.Form == "timestamp" {
				inForm.Set(f.Form, strings.TrimSuffix(value, "000"))
			} else if f.Form != "" {
				inForm.Set(f.Form, value)
			}
		}
		in, err := take(visitsOf.parsePixel(inForm.Encode()))
		for _, f := range kind.fields {
			if f.Form != "" && (err != nil || string(in[f.Name]) != f.Example) {
				t.Errorf("%s is %s, %v; in the pixel it was %s", f.Name, in[f.Name], err, f.Example)
			}
		}
	}
}
