package deadletters_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/models"
)

// A letter that a consumer wrote is read back.
func TestParse(t *testing.T) {
	dead := &eventlog.DeadLetter{
		Message: kafka.Message{Topic: "visits-g2", Partition: 3, Offset: 500, Key: []byte("shop|g"), Value: []byte("{}")},
		Invalid: &models.Invalid{Reason: "missing_guid", Detail: "why"},
	}
	m := dead.Encode(eventlog.MaxDeadBytes)
	m.Time = time.Unix(1_790_000_000, 0)
	got, err := deadletters.Parse(m)
	if err != nil || got.Origin != (models.Position{Topic: "visits-g2", Partition: 3, Offset: 500}) || got.Reason != "missing_guid" || got.Detail != "why" ||
		string(got.Key) != "shop|g" || string(got.Value) != "{}" || !got.At.Equal(m.Time) || got.Truncated {
		t.Errorf("%+v, %v", got, err)
	}
	dead.Message.Value = []byte(strings.Repeat("x", 600_000))
	if got, err := deadletters.Parse(dead.Encode(eventlog.MaxDeadBytes)); err != nil || !got.Truncated {
		t.Errorf("truncated %v, %v", got.Truncated, err)
	}
	for _, without := range []string{"reason", "topic", "partition", "offset"} {
		m := dead.Encode(eventlog.MaxDeadBytes)
		for i := range m.Headers {
			if m.Headers[i].Key == without {
				m.Headers[i].Value = nil
			}
		}
		if _, err := deadletters.Parse(m); !errors.Is(err, deadletters.ErrNoOrigin) {
			t.Errorf("without a %s: %v", without, err)
		}
	}
}

func TestPositionsByName(t *testing.T) {
	p := models.Position{Topic: "visits-g2", Partition: 3, Offset: 500}
	if got, err := deadletters.Position(deadletters.Name(p)); err != nil || got != p {
		t.Errorf("%v, %v", got, err)
	}
	for _, wrong := range []string{"", "visits", "visits/3", "visits/3/x", "visits/-1/5", "visits/3/-5", "/3/5", "a/b/3/5"} {
		if got, err := deadletters.Position(wrong); err == nil {
			t.Errorf("%q is read as %v", wrong, got)
		}
	}
}

func TestSelection(t *testing.T) {
	at := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	l := deadletters.Letter{Origin: models.Position{Topic: "visits-g2"}, Reason: "bad_timestamp", Key: []byte("shop|g"), At: at}
	f := func(want bool, s deadletters.Selection) {
		t.Helper()
		if got := s.Match(l); got != want {
			t.Errorf("%+v: %v", s, got)
		}
	}
	f(true, deadletters.Selection{})
	f(true, deadletters.Selection{Reasons: []string{"x", "bad_timestamp"}, Topics: []string{"visits"}, Keys: []string{"shop"}, Since: at, Until: at.Add(1)})
	f(true, deadletters.Selection{Topics: []string{"visits-g2"}, Keys: []string{"shop|g"}})
	f(false, deadletters.Selection{Reasons: []string{"bad"}})
	f(false, deadletters.Selection{Topics: []string{"clicks", "visits-g3"}})
	f(false, deadletters.Selection{Keys: []string{"sho", "shop|", "g"}})
	f(false, deadletters.Selection{Since: at.Add(1)})
	f(false, deadletters.Selection{Until: at})
}

func TestMoments(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{"24h": "2026-11-29T12:00:00Z", "2026-11-01": "2026-11-01T00:00:00Z", "2026-11-01T10:00:00+01:00": "2026-11-01T09:00:00Z"} {
		if got, err := deadletters.Moment(text, now); err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, wrong := range []string{"", "yesterday", "-1h", "2026-13-01"} {
		if got, err := deadletters.Moment(wrong, now); err == nil {
			t.Errorf("%q is read as %v", wrong, got)
		}
	}
}
