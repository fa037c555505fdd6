package deadletters

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
)

// Letter is one dead letter. Consumers write a letter again after a crash: letters with the same origin are the same.
type Letter struct {
	Origin    models.Position // of the message that could not be counted
	At        time.Time       // when the letter was written
	Reason    string
	Detail    string // may be empty
	Key       []byte
	Value     []byte
	Truncated bool // key or value were too large, and are cut
}

// ErrNoOrigin is the error about a message that no consumer of footfall wrote.
var ErrNoOrigin = errors.New("the message does not say where it comes from")

// Parse reads a message of the topic of dead letters.
func Parse(m kafka.Message) (Letter, error) {
	l := Letter{At: m.Time, Key: m.Key, Value: m.Value}
	var partition, offset string
	for _, h := range m.Headers {
		value := string(h.Value)
		switch h.Key {
		case "reason":
			l.Reason = value
		case "detail":
			l.Detail = value
		case "topic":
			l.Origin.Topic = value
		case "partition":
			partition = value
		case "offset":
			offset = value
		case "truncated":
			l.Truncated = true
		}
	}
	var wrong error
	if l.Origin, wrong = position(l.Origin.Topic, partition, offset); wrong != nil || l.Reason == "" {
		return l, ErrNoOrigin
	}
	return l, nil
}

// Name is a position as texts, headers and ledgers have it: visits/3/500.
func Name(p models.Position) string { return fmt.Sprintf("%s/%d/%d", p.Topic, p.Partition, p.Offset) }

// Position is the inverse of Name.
func Position(name string) (models.Position, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return models.Position{}, fmt.Errorf("%q is no position such as visits/3/500", models.Excerpt(name))
	}
	return position(parts[0], parts[1], parts[2])
}

func position(topic, partition, offset string) (models.Position, error) {
	n, wrong := strconv.Atoi(partition)
	at, wrongToo := strconv.ParseInt(offset, 10, 64)
	if topic == "" || n < 0 || at < 0 || wrong != nil || wrongToo != nil {
		return models.Position{}, fmt.Errorf("%q, %q, %q is no topic, partition and offset", models.Excerpt(topic), models.Excerpt(partition), models.Excerpt(offset))
	}
	return models.Position{Topic: topic, Partition: n, Offset: at}, nil
}
