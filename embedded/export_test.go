package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"testing"

	"footfall/models"
	"footfall/test/harness"
)

// exportedViews downloads a site's month: the views of the month, all there are by each metric of views, and between which numbers of events
// the manifest says that they are.
func exportedViews(t *testing.T, f *running) (least, most int64, views []int64, exact bool) {
	t.Helper()
	response, err := http.Get(f.reader + "/v1/stats/sites/site1/export?month=2018-10&format=ndjson")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", response.Status, body, err)
	}
	z, err := zip.NewReader(bytes.NewReader(body), int64(len(body)))
	if err != nil {
		t.Fatal(err)
	}
	manifest, rows := opened(t, z, "manifest.json"), opened(t, z, "counts.ndjson")
	var m struct {
		Log struct {
			Exact      bool
			Reason     string
			Partitions []struct {
				CountedBefore int64 `json:"counted_before"`
				Below         *int64
			}
		}
	}
	if err := manifest.Decode(&m); err != nil {
		t.Fatal(err)
	}
	for _, p := range m.Log.Partitions {
		if least += p.CountedBefore; p.Below == nil {
			t.Fatalf("a consumer runs, and has not noted where the log ends: %s", m.Log.Reason)
		}
		most += *p.Below
	}
	sums := map[string]int64{models.MonthViews: 0, models.DayViews: 0, models.HourViews: 0}
	for rows.More() {
		var row struct {
			Feature1, Feature2 *string
			Metric             string
			Count              int64
		}
		if err := rows.Decode(&row); err != nil {
			t.Fatal(err)
		}
		if _, views := sums[row.Metric]; views && row.Feature1 == nil && row.Feature2 == nil {
			sums[row.Metric] += row.Count
		}
	}
	for _, n := range sums {
		views = append(views, n)
	}
	return least, most, views, m.Log.Exact
}

func opened(t *testing.T, z *zip.Reader, name string) *json.Decoder {
	t.Helper()
	file, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return json.NewDecoder(file)
}

// TestExportsSayWhichEventsTheyContain, also while events are counted, and exactly when no more come.
func TestExportsSayWhichEventsTheyContain(t *testing.T) {
	if testing.Short() {
		t.Skip("consumers that are idle note the end of the log every five seconds")
	}
	f := start(t, t.TempDir())
	var sent atomic.Int64
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if status, err := post(f.url, visit(fmt.Sprint(i), fmt.Sprint("g", i%50), "2018-10-01 14:00", "facebook.com")); err != nil || status != http.StatusAccepted {
				stopped <- fmt.Errorf("%d, %w", status, err)
				return
			}
			sent.Add(1)
		}
	}()
	within := func() (exact bool, counted int64) {
		t.Helper()
		least, most, views, exact := exportedViews(t, f)
		for _, n := range views {
			if n < least || n > most || exact && n != least {
				t.Errorf("%d views are not between %d and %d (exact: %v)", n, least, most, exact)
			}
		}
		return exact, least
	}
	for range 3 {
		harness.Within(t, patience, "something is counted", func() error {
			if _, counted := within(); counted == 0 {
				return errors.New("nothing")
			}
			return nil
		})
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	harness.Within(t, patience, "all is counted, and an export says so", func() error {
		if exact, counted := within(); !exact || counted != sent.Load() {
			return fmt.Errorf("exact %v, %d of %d", exact, counted, sent.Load())
		}
		return nil
	})
}
