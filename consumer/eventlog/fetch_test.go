package eventlog

import (
	"errors"
	"testing"

	"footfall/models"
)

// Retention may delete ids while a fetcher fills its duplicate window: the fetcher goes on with those that are left. It refuses if
// uncounted events are deleted, or if the topic is shorter than it was.
func TestFetcherOffsetOutOfRange(t *testing.T) {
	log, _, _, cut := aLog(t, 60)
	p := models.Partition{Topic: "clicks"}
	f := func(offset, start, want int64, refused bool) {
		t.Helper()
		fetch := &Fetcher{Kafka: log.Kafka, Partition: p, From: offset, Start: start}
		err := fetch.outOfRange(t.Context(), offset)
		if no := (*Refusal)(nil); errors.As(err, &no) != refused || err != nil && !refused || fetch.From != want {
			t.Errorf("offset %d is gone, counting begins at %d: %v, reading begins at %d; want %d", offset, start, err, fetch.From, want)
		}
	}
	cut(20)
	f(10, 40, 20, false)
	f(10, 20, 20, false)
	f(10, 19, 10, true)
	f(10, 10, 10, true)
	f(61, 61, 61, true)
	f(61, 70, 61, true)
}
