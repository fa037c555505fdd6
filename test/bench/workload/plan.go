package workload

import "footfall/models"

// Plan is what every side keeps, footfall as well: all of visits, and no clicks by month. Others would need more tables for those.
func Plan() *models.Plan {
	plan, err := models.NewPlan(models.DefaultFeatures(), []string{models.MonthUnique, models.WeekUnique, models.DayUnique, models.MonthViews,
		models.DayViews, models.HourViews})
	if err != nil {
		panic(err) // the names are constants
	}
	return plan
}
