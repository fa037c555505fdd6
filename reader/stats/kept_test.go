package stats

import (
	"errors"
	"slices"
	"testing"

	"footfall/models"
)

func planOf(t *testing.T, features, metrics []string) *models.Plan {
	t.Helper()
	p, err := models.NewPlan(features, metrics)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhatIsKept(t *testing.T) {
	all := models.AllMetrics()
	for _, c := range []struct {
		metrics []string
		metric  Metric
		by      Unit
		fixed   int
		want    string   // the metric of Counts; empty: not kept
		instead []string // then
	}{
		{all, Views, Hour, 0, models.HourViews, nil},
		{all, Views, Day, 1, models.DayViews, nil},
		{all, Views, Week, 1, models.DayViews, nil}, // days add up to weeks
		{all, Views, Month, 0, models.MonthViews, nil},
		{all, Unique, Day, 2, models.DayUnique, nil},
		{all, Unique, Week, 0, models.WeekUnique, nil},
		{all, Unique, Month, 6, models.MonthUnique, nil},
		{all, Unique, Hour, 0, "", []string{"metric=unique by day, week, month", "metric=views by hour, day, week, month"}},
		{all, Views, Day, 2, "", []string{"metric=unique by day, week, month", "metric=views with one feature only"}},
		{[]string{models.DayUnique}, Unique, Week, 0, "", []string{"metric=unique by day"}}, // days do not add up to weeks
		{[]string{models.DayUnique}, Unique, Month, 2, "", []string{"metric=unique by day"}},
		{[]string{models.DayUnique}, Views, Day, 0, "", []string{"metric=unique by day"}},
		{[]string{models.DayUnique}, Views, Day, 2, "", []string{"metric=unique by day"}},
		{[]string{models.HourViews}, Views, Month, 0, models.HourViews, nil},
		{[]string{models.HourViews}, Views, Week, 0, models.HourViews, nil},
		{[]string{models.MonthViews}, Views, Week, 0, "", []string{"metric=views by month"}},
		{[]string{models.MonthViews}, Views, Hour, 1, "", []string{"metric=views by month"}},
		{[]string{models.MonthViews}, Unique, Month, 2, "", nil},
		{[]string{models.DayViews, models.WeekUnique}, Views, Hour, 0, "", []string{"metric=unique by week", "metric=views by day, week, month"}},
	} {
		got, err := kept(planOf(t, models.DefaultFeatures(), c.metrics), c.metric, c.by, c.fixed)
		var not *NotKept
		if errors.As(err, &not) != (c.want == "") || got != c.want {
			t.Errorf("%v: %s by %s with %d features: %q, %v; want %q", c.metrics, c.metric, c.by, c.fixed, got, err, c.want)
		}
		if not != nil && !slices.Equal(not.Instead, c.instead) {
			t.Errorf("%v: %s by %s with %d features: instead %q, want %q", c.metrics, c.metric, c.by, c.fixed, not.Instead, c.instead)
		}
	}
}
