package e2e

import (
	"testing"
	"time"

	"footfall/test/e2e/load"
)

// The promise: every accepted event is counted exactly once in every table it belongs to, and in no other.
func TestEveryCellEqualsTheOracle(t *testing.T) {
	some := kept{fourFeatures.features, []string{"month_unique", "week_unique", "month_views", "hour_views", "browser"}}
	t.Run("embedded", func(t *testing.T) { everyCell(t, newEmbedded(t), 1, 10_000) })
	t.Run("real", func(t *testing.T) { everyCell(t, newReal(t, 1), 2, 20_000) })
	t.Run("embedded with four features", func(t *testing.T) { everyCell(t, newEmbeddedKeeping(t, fourFeatures), 31, 2_500) })
	t.Run("embedded with some metrics", func(t *testing.T) { everyCell(t, newEmbeddedKeeping(t, some), 33, 1_000) })
	t.Run("real with four features", func(t *testing.T) { everyCell(t, newRealKeeping(t, 1, fourFeatures), 32, 4_000) })
}

func everyCell(t *testing.T, d deployment, seed uint64, n int) {
	begun := time.Now()
	want, _ := send(t, d, load.Make(seed, n, d.kept().features...), load.Order(seed, n), nil)
	d.settle(t, want)
	t.Logf("settled %s after the first event", time.Since(begun).Round(time.Millisecond))
	got := d.dump(t)
	equal(t, want.Cells(), got)
	if len(got.Firsts) < 2 {
		t.Errorf("visitors were first seen in %d Kafka partitions, want several", len(got.Firsts))
	}
}
