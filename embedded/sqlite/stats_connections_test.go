package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"footfall/embedded/sqlite"
	"footfall/models"
	"footfall/test/harness/statstables"
)

// TestManyQuestionsTakeFewConnections: an export asks for 16 keys at once, and many may be under way. Each connection has files open.
func TestManyQuestionsTakeFewConnections(t *testing.T) {
	dir := t.TempDir()
	openPlan(t, dir, models.DefaultPlan())
	s := openStats(t, dir)
	ask := func(ctx context.Context) error {
		_, err := s.Counts(ctx, models.SiteKey("s", 0, "", ""))
		return err
	}
	release, err := sqlite.TakeConnections(t.Context(), s, sqlite.StatsConnections)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := ask(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("one question more than there are connections: %v, want that it waits", err)
	}
	answered := make(chan error)
	go func() { answered <- ask(t.Context()) }()
	release()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

// TestSequencesKeepNoConnection while they are run through: else as many slow clients as there are connections would keep all others out.
func TestSequencesKeepNoConnection(t *testing.T) {
	dir, month := t.TempDir(), models.Millis(1538352000000)
	db, _ := openPlan(t, dir, models.DefaultPlan())
	s, to := openStats(t, dir), statstables.Tables{DB: db, Links: db}
	to.List(t, models.Name{List: models.SitesByMonth, Start: month, Value: "s"}, models.Name{List: models.LinksByDay, Start: month, Value: "l"},
		models.Name{List: models.ValuesByMonth, Start: month, Site: "s", Feature: "feature1", Value: "v"})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var nest func(depth int) error
	nest = func(depth int) error {
		if depth > 3*sqlite.StatsConnections {
			return nil
		}
		lists := []func() func(func(string, error) bool){
			func() func(func(string, error) bool) {
				return s.Names(ctx, models.Name{List: models.SitesByMonth, Start: month}, models.NamesWith(""))
			}, func() func(func(string, error) bool) {
				return s.Names(ctx, models.Name{List: models.LinksByDay, Start: month}, models.NamesWith(""))
			},
			func() func(func(string, error) bool) {
				return s.Names(ctx, models.Name{List: models.ValuesByMonth, Start: month, Site: "s", Feature: "feature1"}, models.NamesWith(""))
			},
		}
		n := 0
		for _, err := range lists[depth%len(lists)]() {
			if n++; err != nil {
				return err
			}
			if err := nest(depth + 1); err != nil {
				return err
			}
		}
		if n != 1 {
			return fmt.Errorf("%d names at depth %d, want 1", n, depth)
		}
		return nil
	}
	if err := nest(0); err != nil {
		t.Error(err)
	}
}
