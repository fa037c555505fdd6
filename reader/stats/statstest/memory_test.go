package statstest_test

import (
	"testing"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

func TestMemory(t *testing.T) {
	statstest.Run(t, func(_ *testing.T, plan *models.Plan) (stats.Store, statstest.Tables) {
		m := statstest.NewMemory(plan)
		return m, m
	})
}
