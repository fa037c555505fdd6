package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"footfall/configs"
	"footfall/simulator/mock"
	"footfall/simulator/store"
	"footfall/simulator/tables"
)

// shown is how many rows that differ are listed.
const shown = 20

// again is how long to wait between two readings of the store. After the first without a difference there is one more, since an event
// may be counted twice later.
const again = time.Second

// comparison compares a store with what events make.
type comparison struct {
	from  store.Store
	scope store.Scope
	want  tables.Cells
}

func newComparison(o options, visits []mock.Visit, clicks []mock.Click) (*comparison, error) {
	from, err := open(o.store)
	if err != nil {
		return nil, err
	}
	c := &comparison{from, store.Scope{Site: o.plan.Site, Features: o.plan.Names(), Links: o.plan.Links}, tables.Cells{}}
	c.want.AddVisits(o.plan.Site, o.metrics, visits)
	c.want.AddClicks(o.metrics, clicks)
	return c, nil
}

func (c *comparison) close() { _ = c.from.Close() } // only read

// refuseOthers returns an error if the store has counted other events of the site or the links: the comparison would never end well. These events
// themselves it may have: sent again they count once.
func (c *comparison) refuseOthers(ctx context.Context) error {
	got, err := c.from.Read(ctx, c.scope)
	if err != nil {
		return err
	}
	for row, n := range got {
		if n > c.want[row] {
			return fmt.Errorf("%s has other events of site %s or its links, such as in %s: choose another site (-s) to compare what is counted. Nothing was sent", c.from, c.scope.Site, row)
		}
	}
	return nil
}

// await waits until the store holds exactly the rows that the events make, or fails after o.wait.
func (c *comparison) await(ctx context.Context, o options, visits []mock.Visit, clicks []mock.Click, stderr io.Writer) error {
	from, scope, want := c.from, c.scope, c.want
	fmt.Fprintf(stderr, "comparing %d rows with %s\n", len(want), from)

	deadline := time.Now().Add(o.wait)
	bar := newProgress(stderr, "rows equal", len(want))
	if err := waitForOne(ctx, from, scope, o.metrics, visits, clicks, deadline); err != nil {
		return err
	}
	for equal := 0; equal < 2; {
		got, err := from.Read(ctx, scope)
		if err != nil {
			return err
		}
		different := tables.Diff(want, got)
		bar.at(max(len(want)-len(different), 0))
		if equal++; len(different) > 0 {
			equal = 0
		}
		if equal == 0 && time.Now().After(deadline) {
			return tell(different, o.wait, stderr)
		}
		if err := nextLook(ctx); err != nil {
			return err
		}
	}
	bar.end(len(want))
	return nil
}

// waitForOne waits, until the deadline, for one row to be complete, which is cheaper than reading all rows again and again. It takes a
// row that is complete about last: of the link of the last click, or of the month of the last visit.
func waitForOne(ctx context.Context, from store.Store, scope store.Scope, metrics []string, visits []mock.Visit, clicks []mock.Click, deadline time.Time) error {
	var one store.Counter
	want := int64(0)
	switch {
	case len(clicks) > 0:
		last := clicks[len(clicks)-1].Link
		one = store.Clicks(last)
		for _, c := range clicks {
			if c.Link == last && !c.Bot {
				want++
			}
		}
	case len(visits) > 0 && slices.Contains(metrics, "month_views"):
		at := visits[len(visits)-1].At
		one = scope.Month("month_views", time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC))
		for _, v := range visits {
			if v.At.Year() == at.Year() && v.At.Month() == at.Month() {
				want++
			}
		}
	default:
		return nil
	}
	for {
		behind, err := from.Behind(ctx, one, want)
		if err != nil || !behind || time.Now().After(deadline) {
			return err
		}
		if err := nextLook(ctx); err != nil {
			return err
		}
	}
}

func nextLook(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return errors.New("stopped while comparing")
	case <-time.After(again):
		return nil
	}
}

// tell lists the first rows that differ.
func tell(different []string, waited time.Duration, stderr io.Writer) error {
	for i, line := range different {
		if i == shown {
			fmt.Fprintf(stderr, "... and %d more\n", len(different)-shown)
			break
		}
		fmt.Fprintln(stderr, line)
	}
	return fmt.Errorf("%d rows differ after %s: were all events sent to this store, and no others for this site and these links?", len(different), waited)
}

// open opens the store: the one that is named, else the files of embedded if they are there, else Cassandra.
func open(name string) (store.Store, error) {
	if name != "cassandra" {
		cfg, err := configs.LoadEmbedded("")
		if err != nil {
			return nil, fmt.Errorf("%w; %w", err, errUsage)
		}
		if name == "embedded" || store.IsEmbedded(cfg.Data.Dir) {
			return store.OpenEmbedded(cfg.Data.Dir)
		}
	}
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		return nil, fmt.Errorf("%w; %w", err, errUsage)
	}
	return store.OpenCassandra(cfg.Cassandra.CassandraClient)
}
