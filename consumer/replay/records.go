package replay

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/models"
)

// The keys of the ledger's records. Each record has a key of its own, so that compaction removes none that counts: an intent is removed by
// its run once it is settled, and the others stay.
const (
	runKey    = "run/"    // and the run: it began to send
	intentKey = "intent/" // the run and a number: it is about to send a batch
	sentKey   = "sent/"   // and the origin of a letter: it was sent
)

// claim is the value of a runKey.
type claim struct {
	At   time.Time `json:"at"`
	Who  string    `json:"who"` // for people
	What []string  `json:"what,omitempty"`
}

// intent is the value of an intentKey. If its run dies, the next one looks for the letters from these ends on.
type intent struct {
	At      time.Time   `json:"at"`
	Ends    []end       `json:"ends"`
	Letters []addressee `json:"letters"`
}

// end is where a partition ended before the batch was sent.
type end struct {
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
	Offset    int64  `json:"offset"`
}

// addressee says to which partition a letter is sent.
type addressee struct {
	Origin    string `json:"origin"`
	Topic     string `json:"topic"`
	Partition int    `json:"partition"`
}

// sent is the value of a sentKey.
type sent struct {
	At        time.Time `json:"at"`
	Topic     string    `json:"topic"`
	Partition int       `json:"partition"`
	Offset    int64     `json:"offset"`
}

func (s sent) position() models.Position {
	return models.Position{Topic: s.Topic, Partition: s.Partition, Offset: s.Offset}
}

// record makes a record of the ledger; a nil value removes the one with this key.
func record(key string, value any) kafka.Record {
	r := kafka.Record{Key: kafka.NewBytes([]byte(key)), Time: time.Now()}
	if value != nil {
		text, err := json.Marshal(value)
		if err != nil {
			panic(err) // times and texts always encode
		}
		r.Value = kafka.NewBytes(text)
	}
	return r
}

// book is what the records of a ledger add up to.
type book struct {
	sent    map[models.Position]models.Position // by origin: where the letter was sent to
	places  map[models.Position]bool            // where letters were sent to
	pending map[string]intent                   // by key: batches of which it is not known what was sent
}

func newBook() *book {
	return &book{map[models.Position]models.Position{}, map[models.Position]bool{}, map[string]intent{}}
}

// add adds a record. Records have to come in the order of the topic. by is the run that claims the ledger with this record; empty: none does.
func (b *book) add(m kafka.Message) (by string, err error) {
	key := string(m.Key)
	kind, rest, _ := strings.Cut(key, "/")
	switch kind + "/" {
	case runKey:
		return rest, nil
	case intentKey:
		if len(m.Value) == 0 {
			delete(b.pending, key)
			return "", nil
		}
		var in intent
		if err := json.Unmarshal(m.Value, &in); err != nil {
			return "", fmt.Errorf("reading record %d of the ledger (%s): %w", m.Offset, models.Excerpt(key), err)
		}
		b.pending[key] = in
	case sentKey:
		origin, err := deadletters.Position(rest)
		if err != nil {
			return "", fmt.Errorf("reading record %d of the ledger: %w", m.Offset, err)
		}
		var s sent
		if err := json.Unmarshal(m.Value, &s); err != nil {
			return "", fmt.Errorf("reading record %d of the ledger (%s): %w", m.Offset, models.Excerpt(key), err)
		}
		b.note(origin, s.position())
	default:
		return "", fmt.Errorf("record %d of the ledger has the key %q, which this version does not know: who else writes to the topic?", m.Offset, models.Excerpt(key))
	}
	return "", nil
}

// note notes that a letter was sent.
func (b *book) note(origin, place models.Position) {
	b.sent[origin] = place
	b.places[place] = true
}

// sought is a letter that may have been sent: from this offset on, if so.
type sought struct {
	origin models.Position
	in     models.Partition
	from   int64
}

// undecided lists the letters of pending intents that are not known to be sent.
func (b *book) undecided() (list []sought) {
	for _, in := range b.pending {
		ends := map[models.Partition]int64{}
		for _, e := range in.Ends {
			ends[models.Partition{Topic: e.Topic, Number: e.Partition}] = e.Offset
		}
		for _, a := range in.Letters {
			origin, err := deadletters.Position(a.Origin)
			if _, known := b.sent[origin]; err != nil || known {
				continue
			}
			p := models.Partition{Topic: a.Topic, Number: a.Partition}
			list = append(list, sought{origin, p, ends[p]})
		}
	}
	return list
}
