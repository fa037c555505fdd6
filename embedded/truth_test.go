package main

import (
	"testing"
	"time"

	"footfall/embedded/sqlite"
	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
	"footfall/simulator/mock"
)

// TestAnswersAreTheSimulatorsTruth sends made-up events to what the binary starts, and asks for every cell that they are worth. The
// simulator counts them with code of its own.
func TestAnswersAreTheSimulatorsTruth(t *testing.T) {
	dir := t.TempDir()
	f := start(t, dir)
	p := statstest.Plan(models.DefaultPlan())
	clicks, visits := mock.MakeClicks(p), mock.MakeVisits(p)
	for _, c := range clicks {
		event := map[string]any{"id": c.ID, "short_url": c.Link, "ip": c.IP, "country": c.Country, "ts": c.At.UnixMilli(), "referrer": c.Referrer, "bot": c.Bot}
		if c.Agent.UserAgent != "" {
			event["ua"] = c.Agent.UserAgent
		}
		if c.Amount != nil {
			event["amount"] = *c.Amount
		}
		mustPost(t, f.url, event)
	}
	for _, v := range visits {
		mustPost(t, f.url, map[string]any{"id": v.ID, "siteId": p.Site, "guid": v.GUID, "ts": v.At.UnixMilli(), "feature1": v.Features[0], "feature2": v.Features[1]})
	}
	sent := time.Now()
	counts, err := sqlite.OpenStats(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = counts.Close() })
	r := stats.New(counts, "clicks", "visits")
	reached := func(as stats.AsOf, err error) bool {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return as.Counting && as.Lag == 0 && as.Doubts == 0 && as.Time.After(sent)
	}
	// as_of alone says when everything that was sent is counted.
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		link, err := r.Link(t.Context(), "abc")
		ofClicks := reached(link.AsOf, err)
		site, err := r.Sites(t.Context(), models.Millis(p.From.UnixMilli()), []models.NameRange{models.NamesWith("")})
		if ofClicks && reached(site.AsOf, err) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the counts reach %+v and %+v only; sent until %v; the log: %s", link.AsOf, site.AsOf, sent, f.log)
		}
	}
	statstest.Truth(t, r, p)
}
