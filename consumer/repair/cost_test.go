package repair

import (
	"context"
	"fmt"
	"testing"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
)

// clickedOnce is a log of clicks, each on a link of its own. read counts the messages that were read of it, those that fill windows included.
type clickedOnce struct{ end, read int64 }

func (l *clickedOnce) Read(_ context.Context, p models.Partition, s eventlog.Span, r eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	got := eventlog.Reading{Span: eventlog.Span{From: s.From, To: min(s.To, l.end)}, Whole: true}
	l.read += min(got.From, r.Offsets)
	for o := got.From; o < got.To; o++ {
		l.read++
		each(eventlog.Item{Partition: p, Offset: o, Bytes: 300, At: time.Unix(0, 0),
			Event: &models.Click{ShortURL: fmt.Sprint("link", o), IP: "192.0.2.1", ID: fmt.Sprint(o), TS: models.Earliest}})
	}
	return got, nil
}

// A zombie counted a chunk that its successor counted, too, of links that are clicked once. A check in many pieces reads the log a few times for each
// of them, not once for each pair: a group that rebalances meanwhile would begin again and again.
func TestAPieceReadsTheLogFewTimes(t *testing.T) {
	const from, to, end, pieces = 20_000, 24_000, 60_000, 20
	m, log := memstore.New(), &clickedOnce{end: end}
	for o := range int64(to - from) {
		key := models.Key{Keyspace: models.URLShortener, Name: fmt.Sprint("link", from+o)}
		m.ApplyOne(store.KeyWrite{Key: key, Ledger: []store.LedgerRow{owner(p0, 1, from, to), owner(p0, 2, from, to)}})
	}
	c := testChecker(m, log)
	c.Reach.Offsets = from
	c.Bytes = 2 * (to - from) * 1300 / pieces
	if _, err := c.Check(t.Context(), p0, eventlog.Span{From: from, To: to}, nil, func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	if most := int64(3 * pieces * end); log.read > most {
		t.Errorf("%d messages were read for %d pieces of a log of %d; want %d at the most", log.read, pieces, end, most)
	}
}
