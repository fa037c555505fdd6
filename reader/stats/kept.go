package stats

import (
	"fmt"
	"slices"
	"strings"

	"footfall/models"
)

// uniqueOf has the metric of unique visitors for each unit that has one.
var uniqueOf = map[Unit]string{Day: models.DayUnique, Week: models.WeekUnique, Month: models.MonthUnique}

// viewsOf has the metrics whose counters add up to the views of a unit, those with the fewest counters first.
var viewsOf = map[Unit][]string{
	Hour:  {models.HourViews},
	Day:   {models.DayViews, models.HourViews},
	Week:  {models.DayViews, models.HourViews},
	Month: {models.MonthViews, models.DayViews, models.HourViews},
}

// kept finds the metric of Counts that answers for a unit, with that many features fixed. The error is a *NotKept. Views may be the sum
// of several counters; unique visitors are always one.
func kept(plan *models.Plan, metric Metric, unit Unit, fixed int) (string, error) {
	if metric == Unique {
		if name, ok := uniqueOf[unit]; ok && slices.Contains(plan.Metrics(), name) {
			return name, nil
		}
		return "", &NotKept{Asked: fmt.Sprintf("the number of unique visitors by %s", unit), Instead: insteadOf(plan, fixed)}
	}
	if fixed > 1 {
		return "", &NotKept{Asked: "the number of views of a combination of features", Instead: append(insteadOf(plan, fixed),
			oneFeature(plan)...)}
	}
	for _, name := range viewsOf[unit] {
		if slices.Contains(plan.Metrics(), name) {
			return name, nil
		}
	}
	return "", &NotKept{Asked: fmt.Sprintf("the number of views by %s", unit), Instead: insteadOf(plan, fixed)}
}

// insteadOf lists what a plan keeps.
func insteadOf(plan *models.Plan, fixed int) (out []string) {
	can := func(metric Metric) {
		var units []string
		for _, unit := range []Unit{Hour, Day, Week, Month} {
			if keeps(plan, metric, unit) {
				units = append(units, string(unit))
			}
		}
		if len(units) > 0 {
			out = append(out, fmt.Sprintf("metric=%s by %s", metric, strings.Join(units, ", ")))
		}
	}
	can(Unique)
	if fixed <= 1 {
		can(Views)
	}
	return out
}

func keeps(plan *models.Plan, metric Metric, unit Unit) bool {
	names := viewsOf[unit]
	if metric == Unique {
		names = []string{uniqueOf[unit]}
	}
	return slices.ContainsFunc(names, func(name string) bool { return slices.Contains(plan.Metrics(), name) })
}

// oneFeature is said where too many features are fixed.
func oneFeature(plan *models.Plan) []string {
	if !keeps(plan, Views, Hour) && !keeps(plan, Views, Month) {
		return nil
	}
	return []string{"metric=views with one feature only"}
}
