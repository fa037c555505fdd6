package maintenance

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/repair"
	"footfall/consumer/store"
	"footfall/models"
)

var (
	p0  = models.Partition{Topic: "clicks", Number: 0}
	hit = models.Cell{Counter: models.ClickCounter}
)

// clicksLog is a log of clicks on link abc by one visitor.
type clicksLog int64

// Read implements eventlog.Reader.
func (l clicksLog) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, int64(l))}, Whole: true}
	for offset := got.From; offset < got.To; offset++ {
		each(eventlog.Item{Partition: p, Offset: offset, Event: &models.Click{V: 1, ID: fmt.Sprint(p, offset), ShortURL: "abc", IP: "a", TS: models.Earliest}})
	}
	return got, nil
}

func testChecker(m store.Store, log eventlog.Reader) *repair.Checker {
	return &repair.Checker{
		Doubter: *repair.NewDoubter(m, repair.NewMetrics(prometheus.NewRegistry()), slog.New(slog.DiscardHandler)), Plan: models.DefaultPlan(),
		Reader: log, Hasher: eventlog.NewHasher(), Reach: eventlog.Reach{Offsets: 100, Age: time.Hour},
	}
}
