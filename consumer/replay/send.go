package replay

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// parcel is a letter to be sent.
type parcel struct {
	origin models.Position
	letter deadletters.Letter
	deadletters.Mended
}

// times bounds a batch. A run that takes over waits for settle, counted from its claim. By then a batch that was announced before the claim is
// in the topics, or is never sent: within bounds it, and the rest is for requests that are under way.
type times struct{ within, settle time.Duration }

var defaultTimes = times{within: 5 * time.Second, settle: 10 * time.Second}

// attempts is how often a batch is tried. With pauses it is a minute and more: the time of an election of leaders, or of a consumer grow.
const attempts = 10

// errLate says that a batch took longer than the next run would wait for it.
var errLate = errors.New("the batch took too long")

// deliver sends a batch. After a failure it finds out what was sent, and sends the rest.
func (r *replayer) deliver(ctx context.Context, batch []parcel) (err error) {
	for attempt := 0; ; attempt++ {
		if attempt > 0 {
			err = r.recover(ctx)
			batch = r.left(batch)
		}
		if err == nil && len(batch) > 0 {
			err = r.send(ctx, batch)
		}
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errTaken) || ctx.Err() != nil || attempt+1 >= attempts:
			return fmt.Errorf("sending letters again: %w", err)
		}
		r.log.Warn("sending letters again failed: finding out what was sent, then trying again", "attempt", attempt+1, "error", err)
		if err := retry.Sleep(ctx, retry.Backoff(attempt)); err != nil {
			return err
		}
	}
}

// left is what of a batch is still to be sent. A topic may have grown meanwhile.
func (r *replayer) left(batch []parcel) (left []parcel) {
	for _, p := range batch {
		if _, sent := r.ledger.sent[p.origin]; !sent && !r.tooLarge[p.origin] && !r.isCarried(p.letter) && (r.options.Doubtful || !r.doubtful[p.origin]) {
			left = append(left, p)
		}
	}
	return left
}

// recover claims the ledger again, and finds out what the failed batch has sent.
func (r *replayer) recover(ctx context.Context) error {
	r.Kafka.Forget() // leaders may have changed, or there is another generation
	if err := r.discover(ctx); err != nil {
		return err
	}
	if err := r.ledger.open(ctx, r.claim()); err != nil {
		return err
	}
	return r.settle(ctx)
}

// send sends a batch: the ledger says what and where to, then Kafka gets it, then the ledger says what was sent.
func (r *replayer) send(ctx context.Context, batch []parcel) error {
	begun := time.Now() // before the announcement: whoever takes over counts from a moment after it
	in, order, err := r.announcement(ctx, batch)
	if err != nil {
		return err
	}
	key, err := r.ledger.intend(ctx, in)
	if err != nil {
		return err
	}
	placed := map[models.Position]models.Position{}
	for _, e := range in.Ends {
		p := models.Partition{Topic: e.Topic, Number: e.Partition}
		if err := r.sendTo(ctx, p, r.left(order[p]), begun, placed); err != nil { // others may have sent some: the ledger has just been read
			return err
		}
	}
	return r.ledger.settle(ctx, placed, []string{key})
}

// sendTo sends the letters of a batch that go to one partition, in requests of a bounded size, and notes their places. A request that Kafka
// refuses as too large is certainly not in the log: it is sent in halves, and a letter that is too large by itself is left out.
func (r *replayer) sendTo(ctx context.Context, p models.Partition, parcels []parcel, begun time.Time, placed map[models.Position]models.Position) error {
	limited, cancel := context.WithDeadline(ctx, begun.Add(r.times.within))
	defer cancel()
	for len(parcels) > 0 {
		if time.Since(begun) > r.times.within {
			return errLate
		}
		n, size := r.fitting(parcels)
		base, err := r.ledger.append(limited, p, messages(parcels[:n]))
		if eventlog.TooLarge(err) {
			if sealed, wrong := topics.Sealed(limited, r.Kafka, p.Topic); wrong != nil || sealed { // if sealed, there is a next generation, or soon
				return errors.Join(err, wrong)
			}
			if n > 1 {
				r.most = size / 2
				continue
			}
			r.tooLarge[parcels[0].origin], r.most = true, requestBytes // this one may have been the reason
		} else if err != nil {
			return err
		}
		for i, parcel := range parcels[:n] {
			if !r.tooLarge[parcel.origin] {
				placed[parcel.origin] = models.Position{Topic: p.Topic, Partition: p.Number, Offset: base + int64(i)}
			}
		}
		parcels = parcels[n:]
	}
	return nil
}

// requestBytes is how large a request is at first: half of what Kafka accepts by default.
const requestBytes = 512 << 10

// fitting is how many of these letters fit into a request, at least one, and their size.
func (r *replayer) fitting(parcels []parcel) (n, size int) {
	for _, p := range parcels {
		if n > 0 && size+p.size() > r.most {
			break
		}
		n, size = n+1, size+p.size()
	}
	return n, size
}

// size is about how many bytes a letter has in a request.
func (p parcel) size() int { return len(p.Event.KafkaKey()) + len(p.Value) + 100 }

// announcement says what a batch sends where to. Every event goes to its visitor's partition in the newest generation of its topic.
func (r *replayer) announcement(ctx context.Context, batch []parcel) (in intent, order map[models.Partition][]parcel, err error) {
	in.At, order = time.Now().UTC(), map[models.Partition][]parcel{}
	ends := map[string]map[int]int64{}
	for _, parcel := range batch {
		to := r.sources.Newest(parcel.Base)
		p := models.Partition{Topic: to.Topic, Number: eventlog.PartitionOf([]byte(parcel.Event.KafkaKey()), to.Inspect.Partitions)}
		if ends[p.Topic] == nil {
			if ends[p.Topic], err = topics.Ends(ctx, r.Kafka, p.Topic, to.Partitions()); err != nil {
				return in, nil, err
			}
		}
		if order[p] == nil {
			in.Ends = append(in.Ends, end{p.Topic, p.Number, ends[p.Topic][p.Number]})
		}
		order[p] = append(order[p], parcel)
		in.Letters = append(in.Letters, addressee{deadletters.Name(parcel.origin), p.Topic, p.Number})
	}
	return in, order, nil
}

func messages(parcels []parcel) (list []kafka.Record) {
	now := time.Now()
	for _, p := range parcels {
		list = append(list, kafka.Record{
			Key: kafka.NewBytes([]byte(p.Event.KafkaKey())), Value: kafka.NewBytes(p.Value), Time: now,
			Headers: []kafka.Header{{Key: originHeader, Value: []byte(deadletters.Name(p.origin))}},
		})
	}
	return list
}
