package workload

import (
	"slices"

	"footfall/models"
)

// Months keeps clicks by month as well, which no other side does: what they cost.
var Months bool

// Plan is what every side keeps, footfall as well: all of visits, and no clicks by month. Others would need more tables for those.
func Plan() *models.Plan {
	metrics := slices.DeleteFunc(models.AllMetrics(), func(name string) bool {
		c, _ := models.CounterOf(name)
		return c.Keyspace == models.URLShortener && !Months
	})
	plan, err := models.NewPlan(models.DefaultFeatures(), metrics)
	if err != nil {
		panic(err) // the names are declared
	}
	return plan
}
