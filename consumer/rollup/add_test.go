package rollup

import (
	"fmt"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// What it costs to put an event into a chunk, its metrics included.
func BenchmarkAdd(b *testing.B) {
	const events = 10_000
	o := &ownership{hasher: eventlog.NewHasher(), retirements: eventlog.NewRetirementWatcher(memstore.New(), nil), partitions: map[models.Partition]*owned{}}
	items := make([]eventlog.Item, events)
	at := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	for i := range items {
		p := models.Partition{Topic: "clicks", Number: i / 100 % 6} // as fetchers hand them on
		items[i] = eventlog.Item{Partition: p, Offset: int64(i), At: at.Add(time.Duration(i) * 300 * time.Microsecond), Event: &models.Click{
			ID: fmt.Sprint(i), ShortURL: fmt.Sprint("link", i*i%3989), IP: fmt.Sprintf("10.0.%d.%d", i>>8, i&255), TS: models.Earliest,
		}}
	}
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		for n := range 6 {
			o.partitions[models.Partition{Topic: "clicks", Number: n}] = &owned{window: eventlog.NewWindow(eventlog.Reach{Offsets: 1000, Age: time.Hour}, 0)}
		}
		c := newChunk(false)
		b.StartTimer()
		for i := range items {
			o.add(c, items[i])
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/events, "ns/event")
}
