package stats

import (
	"fmt"
	"strings"

	"footfall/models"
)

// columns are the metrics of Counts that a plan keeps and that a unit can be had from, those with the fewest cells first. Views may be the sum of
// several cells; unique visitors are always one.
func columns(plan *models.Plan, metric Metric, unit Unit) (names []string) {
	for _, c := range plan.Counters() {
		adds := c.Interval == string(unit) || metric == Views && c.Interval != models.IntervalMonth && unit != Hour
		if c.Keyspace == models.Cardinality && c.Visitors == (metric == Unique) && adds {
			names = append(names, c.Name)
		}
	}
	return names
}

// kept finds the metric of Counts that answers for a unit, with that many features fixed. The error is a *NotKept.
func kept(plan *models.Plan, metric Metric, unit Unit, fixed int) (string, error) {
	if metric == Views && fixed > 1 {
		return "", &NotKept{Asked: "the number of views of a combination of features", Instead: append(insteadOf(plan, fixed),
			oneFeature(plan)...)}
	}
	if names := columns(plan, metric, unit); len(names) > 0 {
		return names[0], nil
	}
	asked := "the number of views by "
	if metric == Unique {
		asked = "the number of unique visitors by "
	}
	return "", &NotKept{Asked: asked + string(unit), Instead: insteadOf(plan, fixed)}
}

// insteadOf lists what a plan keeps.
func insteadOf(plan *models.Plan, fixed int) (out []string) {
	can := func(metric Metric) {
		var units []string
		for _, unit := range []Unit{Hour, Day, Week, Month} {
			if Keeps(plan, metric, unit) {
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

// Keeps tells whether a plan keeps a metric of a whole site by a unit.
func Keeps(plan *models.Plan, metric Metric, unit Unit) bool {
	return len(columns(plan, metric, unit)) > 0
}

// oneFeature is said where too many features are fixed.
func oneFeature(plan *models.Plan) []string {
	if !Keeps(plan, Views, Hour) && !Keeps(plan, Views, Month) {
		return nil
	}
	return []string{"metric=views with one feature only"}
}
