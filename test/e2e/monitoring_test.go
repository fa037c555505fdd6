package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"time"

	"footfall/deployments/monitoring/packtest"
	"footfall/test/e2e/load"
	"footfall/test/harness"
)

// TestMonitoringPack: while events flow, every expression of the rules and of the dashboard has a value in a real Prometheus that scrapes the
// real processes. No rule fails, every metric that is named exists, no alert is active, and each alert's texts are whole.
func TestMonitoringPack(t *testing.T) {
	t.Parallel()
	binary := harness.NeedDebian(t, "prometheus")
	d := prepareReal(t, byDefault)
	d.open(t, 0, "FOOTFALL_LINKS_ENABLED=true")
	counter := d.addConsumer(t)
	reader, admin := d.startReaderWithMetrics(t)
	targets := map[string]string{"footfall-producer": d.admin, "footfall-consumer": counter.url, "footfall-reader": admin}
	defer d.keepBusy(t, reader)()

	prometheus := startPrometheus(t, binary, d.dir, targets)
	began := time.Now()
	expressions := packtest.Expressions(t, "5s")
	harness.Within(t, 90*time.Second, "values of all expressions", func() error {
		var errs []error
		for where, expr := range expressions {
			if err := prometheus.hasValue(t, packtest.Unfiltered(expr)); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", where, err))
			}
		}
		return errors.Join(errs...)
	})
	knownMetrics(t, targets)
	harness.Within(t, 30*time.Second, "rules that work and alerts that are silent", func() error { return prometheus.rulesAreFine(t) })
	harness.Within(t, 30*time.Second, "whole texts of alerts", func() error { return prometheus.textsAreWhole(t) })
	t.Logf("%d expressions have values; it took %s", len(expressions), time.Since(began).Round(100*time.Millisecond))
}

// keepBusy sends events, follows a link and asks the reader, until the test calls stop.
func (d *real) keepBusy(t *testing.T, reader string) (stop func()) {
	t.Helper()
	const perSecond, n = 100, 60_000
	began, halt := time.Now(), make(chan struct{})
	wait := sendBehind(t, &load.Client{URL: d.url, Connections: 4, Stop: halt, Pace: func(place int) {
		time.Sleep(time.Until(began.Add(time.Duration(place) * time.Second / perSecond)))
	}}, load.Make(61, n), load.Once(n))
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan struct{})
	page := &load.Page{URL: reader + "/"}
	go func() {
		defer close(asked)
		load.Ask(ctx, 250*time.Millisecond, page)
	}()
	return func() {
		close(halt)
		cancel()
		<-asked
		// A busy machine may refuse some questions; metrics are there all the same.
		if result := wait(); result.Requests == 0 || len(page.Took) <= len(page.Errors) {
			t.Errorf("%d events and %d questions were sent, errors %v: nothing was measured", result.Requests, len(page.Took), page.Errors)
		} else if len(page.Errors) > 0 {
			t.Logf("the reader refused some of %d questions: %v", len(page.Took), page.Errors)
		}
	}
}

var metricType = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)

// knownMetrics fails the test unless every metric that the pack names is one that the processes show, or is recorded.
func knownMetrics(t *testing.T, targets map[string]string) {
	t.Helper()
	known := map[string]bool{"up": true, "ALERTS": true}
	for _, rule := range packtest.Rules(t) {
		known[rule.Record] = true
	}
	for _, url := range targets {
		_, text := harness.Get(t, url+"/metrics")
		for _, found := range metricType.FindAllStringSubmatch(text, -1) {
			known[found[1]] = true
			if found[2] == "histogram" {
				known[found[1]+"_bucket"], known[found[1]+"_count"], known[found[1]+"_sum"] = true, true, true
			}
		}
	}
	for where, expr := range packtest.Expressions(t, "5s") {
		for _, name := range packtest.Metrics(expr) {
			if !known[name] {
				t.Errorf("%s names %s, which nobody exports", where, name)
			}
		}
	}
	if len(known) < 60 {
		t.Fatalf("found %d metrics only: %v", len(known), slices.Sorted(maps.Keys(known)))
	}
}
