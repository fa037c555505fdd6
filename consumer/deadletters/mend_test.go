package deadletters_test

import (
	"strings"
	"testing"
	"time"

	"footfall/consumer/deadletters"
	"footfall/models"
)

var now = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func rules(t *testing.T, texts ...string) (list deadletters.Rules) {
	t.Helper()
	for _, text := range texts {
		kind, rest, _ := strings.Cut(text, " ")
		r, err := deadletters.ParseRule(kind, rest)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, r)
	}
	return list
}

func mender(t *testing.T, texts ...string) *deadletters.Mender {
	t.Helper()
	return &deadletters.Mender{Plan: models.DefaultPlan(), Clicks: "clicks", Visits: "visits", Rules: rules(t, texts...), Ahead: 5 * time.Minute}
}

func letter(topic, value string) deadletters.Letter {
	return deadletters.Letter{Origin: models.Position{Topic: topic, Partition: 1, Offset: 7}, Reason: "some", Value: []byte(value)}
}

func TestMend(t *testing.T) {
	f := func(topic, value, want string, texts ...string) {
		t.Helper()
		got, err := mender(t, texts...).Mend(letter(topic, value), now)
		text := string(got.Value)
		if err != nil {
			text = err.Error()
		}
		if text != want {
			t.Errorf("%s by %q: %s\nwant %s", value, texts, text, want)
		}
	}
	const visit = `{"v":1,"id":"a","siteId":"shop","guid":"g","ts":1538352000000}`
	const click = `{"v":1,"id":"a","short_url":"x","ip":"203.0.113.7","ts":1538352000000}`
	f("visits", visit, visit)
	f("visits-g2", visit, visit)
	f("clicks", click, click)
	f("visits", `{"v":1,"id":"a","site":"shop","guid":"g","ts":1538352000000}`, visit, "rename site=siteId")
	f("visits", `{"v":1,"id":"a","siteId":"shpo","guid":"g","ts":1538352000000}`, visit, "site shpo=shop")
	f("clicks", `{"v":1,"id":"a","short_url":"y","ip":"203.0.113.7","ts":1538352000000}`, click, "link y=x")
	f("clicks", strings.Replace(click, "1538352000000", "1538352000", 1), click, "scale ts=1000")
	f("clicks", strings.Replace(click, "1538352000000", `"1538352000.0004"`, 1), click, "scale ts=1000")
	f("clicks", strings.Replace(click, "1538352000000", "1538352000000999", 1), click, "scale ts=0.001")
	f("clicks", click, click, "scale ts=1000") // it is in milliseconds already
	f("clicks", `{"id":"a","short_url":"x","ip":"203.0.113.7","ts":1538352000000,"amount":12.34}`, strings.Replace(click, "}", `,"amount":1234}`, 1), "scale amount=100")
	f("clicks", `{"id":"a","short_url":"x","ip":"203.0.113.7","ts":1538352000000,"amount":12.345}`,
		"bad_amount: amount is a whole number of the smallest unit, such as cents, of 10^12 at the most", "scale amount=100")
	f("visits", strings.Replace(visit, "}", `,"device":"x"}`, 1), visit, "drop device")
	f("visits", strings.Replace(visit, "}", `,"device":"x"}`, 1), strings.Replace(visit, "}", `,"feature1":"x"}`, 1), "rename device=feature1")
	f("visits", `{"guid":"g","id":"a"}`, visit, "set siteId=shop", "set ts=1538352000000")
	f("clicks", click, strings.Replace(click, "}", `,"bot":true}`, 1), "set bot=true")
	// rules are applied in their order
	f("visits", `{"id":"a","s":"shpo","guid":"g","ts":1538352000}`, visit, "rename s=siteId", "site shpo=shop", "scale ts=1000")
	f("visits", `{"id":"a","s":"shpo","guid":"g","ts":1538352000}`, strings.Replace(visit, "shop", "shpo", 1), "site shpo=shop", "rename s=siteId", "scale ts=1000")
	// what stays invalid
	f("visits", strings.Replace(visit, "}", `,"device":"x"}`, 1), "unknown_field: device")
	f("visits", strings.Replace(visit, "}", `,"device":"x","feature1":"y"}`, 1), "repeated_field: feature1: the letter has the new name, too", "rename device=feature1")
	f("visits", `{"v":1,`, "bad_json: want one JSON object", "drop x")
	f("visits", `{"v":1,"v":1}`, "repeated_field: v", "drop x")
	f("visits", `[]`, "bad_json: want one JSON object", "drop x")
	f("visits", strings.Replace(visit, "1538352000000", "1538352000", 1), "bad_timestamp: before March 1973: are these seconds instead of milliseconds?")
	f("visits", strings.Replace(visit, "1538352000000", "1e999999999", 1), "bad_timestamp: ts is a whole number of Unix milliseconds", "scale ts=1000")
	f("visits", strings.Replace(visit, "1538352000000", "1796040400000", 1), "timestamp_in_future: more than 5m0s ahead of the clock")
	f("orders", visit, "other_topic: orders")
}

// The id of a letter without one follows from its origin, so that it is the same each time.
func TestMendedIDs(t *testing.T) {
	const noID = `{"siteId":"shop","guid":"g","ts":1538352000000}`
	first, err := mender(t).Mend(letter("visits", noID), now)
	again, err2 := mender(t).Mend(letter("visits", noID), now.Add(time.Hour))
	other := letter("visits", noID)
	other.Origin.Offset++
	another, err3 := mender(t).Mend(other, now)
	if err != nil || err2 != nil || err3 != nil {
		t.Fatal(err, err2, err3)
	}
	if a, b, c := first.Event.EventID(), again.Event.EventID(), another.Event.EventID(); a != b || a == c || !strings.HasPrefix(a, "replayed-") {
		t.Errorf("ids %s, %s and %s", a, b, c)
	}
	// Consumers have seen the id of a visit that came too late.
	late := letter("visits", `{"id":"a","siteId":"shop","guid":"g","ts":1538352000000}`)
	late.Reason = models.ReasonIntervalRetired
	if got, err := mender(t).Mend(late, now); err != nil || got.Event.EventID() != first.Event.EventID() {
		t.Errorf("%v, %v", got.Event, err)
	}
}

func TestMendRefuses(t *testing.T) {
	m := mender(t)
	m.Refuse = func(models.Event) *models.Invalid { return &models.Invalid{Reason: models.ReasonIntervalRetired} }
	if _, err := m.Mend(letter("visits", `{"id":"a","siteId":"shop","guid":"g","ts":1538352000000}`), now); err == nil || err.Error() != models.ReasonIntervalRetired {
		t.Errorf("%v", err)
	}
	cut := letter("visits", "{")
	cut.Truncated = true
	if _, err := m.Mend(cut, now); err == nil || !strings.HasPrefix(err.Error(), deadletters.ReasonTruncated) {
		t.Errorf("%v", err)
	}
}

func TestRulesThatAreNone(t *testing.T) {
	for _, wrong := range []string{"rename a", "rename =b", "rename a=", "scale ts", "scale ts=", "scale ts=x", "scale ts=-1", "scale ts=0", "scale ts=1e9", "site shop", "drop ", "drop a=b", "set v", "set =1"} {
		kind, rest, _ := strings.Cut(wrong, " ")
		if r, err := deadletters.ParseRule(kind, rest); err == nil {
			t.Errorf("%q is read as %v", wrong, r)
		}
	}
}

func TestReport(t *testing.T) {
	r := deadletters.NewReport(rules(t, "scale ts=1000"))
	r.Read, r.Repeats, r.Unmeant = 9, 3, 1
	for i, reason := range []string{"a", "b", "b", "c", "b"} {
		l := letter("visits", "{}")
		l.Reason, l.At = reason, now.Add(time.Duration(i/3)*time.Hour+time.Duration(i)*time.Minute)
		r.Select(l)
	}
	r.Sends(deadletters.Mended{Base: "visits", Changed: []int{0}})
	r.Sends(deadletters.Mended{Base: "clicks"})
	r.Stays("bad_json")
	r.Fates[deadletters.Before], r.Fates[deadletters.Again] = 1, 1
	r.Sent = 2
	r.Finish(1500 * time.Millisecond)
	want := `5 dead letters of 9 messages (3 repeats, 1 not selected, 0 without an origin)
by reason: b 3, a 1, c 1
by time (UTC):
  2026-11-30 12:00  b 2, a 1
  2026-11-30 13:00  b 1, c 1
to send: 2 (clicks 1, visits 1)
  --scale ts=1000 changes 1 of them
not sent: 1 (an earlier replay sent them)
not sent: 1 (a replay sent them, and they failed once more: --again sends them again)
not sent: 1 (consumers could not count them: bad_json 1)
sent: 2 in 1.5 s`
	if got := strings.Join(r.Lines(true), "\n"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := r.Lines(false); got[len(got)-1] != "nothing was sent: --send sends" {
		t.Errorf("%q", got)
	}
}
