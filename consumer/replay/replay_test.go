package replay

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/store/memstore"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

const some = 10 // letters: several batches of four

func TestReplay(t *testing.T) {
	w := newWorld(t, some)
	o := options(t)
	o.Send, o.List = false, true
	if got := w.replay(t, o); got.Letters != some || got.Read != some+some/3 || got.Repeats != some/3 || got.Fates[deadletters.Send] != some || got.Sent != 0 {
		t.Errorf("the dry run says %+v", got)
	}
	if got := w.sent(t); len(got) != 0 {
		t.Errorf("the dry run sent %v", got)
	}
	if !w.has("visits/1/1001  ") || w.has("203.0.113") {
		t.Errorf("the listing lacks letters, or has addresses: %q", w.said)
	}
	if _, err := topics.Partitions(t.Context(), w.log.Kafka, "dead-letters-replayed"); !errors.Is(err, topics.ErrMissing) {
		t.Errorf("the dry run made a ledger: %v", err)
	}
	o.Send = true
	if got := w.replay(t, o); got.Sent != some || got.Fates[deadletters.Send] != some || got.Rules[0].Letters != some {
		t.Errorf("the replay says %+v", got)
	}
	w.onceEach(t)
	// The second run adds nothing, and a dry run says so.
	for _, o.Send = range []bool{true, false} {
		if got := w.replay(t, o); got.Sent != 0 || got.Fates[deadletters.Before] != some {
			t.Errorf("the next run says %+v", got)
		}
	}
	w.onceEach(t)
}

// A look at tables that nobody has counted into records nothing in them, and nothing is sent: nobody knows that they are the right ones.
func TestTablesThatNobodyCountedInto(t *testing.T) {
	w := newWorld(t, some)
	db := memstore.New()
	w.log.Store = db
	o := options(t)
	o.Send = false
	if got := w.replay(t, o); got.Fates[deadletters.Send] != some {
		t.Errorf("%+v", got)
	}
	if len(db.Settings) > 0 {
		t.Errorf("it recorded %v", db.Settings)
	}
	if _, err := w.replayer(options(t), nil).run(t.Context()); !eventlog.IsRefusal(err) || !strings.Contains(err.Error(), "nothing was counted into these tables yet") {
		t.Errorf("%v", err)
	}
	if _, err := topics.Partitions(t.Context(), w.log.Kafka, "dead-letters-replayed"); !errors.Is(err, topics.ErrMissing) || len(db.Settings) > 0 {
		t.Errorf("it made a ledger, or recorded %v: %v", db.Settings, err)
	}
}

func TestValuesAreToldIfAskedFor(t *testing.T) {
	w := newWorld(t, 1)
	w.replay(t, Options{List: true, Values: true})
	if !w.has("203.0.113.0") {
		t.Errorf("%q", w.said)
	}
}

func TestWhatIsNotSent(t *testing.T) {
	w := newWorld(t, some)
	w.bury(t, models.Position{Topic: "visits", Offset: 2000}, `{"siteId":"shop"`, 1)
	w.bury(t, models.Position{Topic: "orders", Offset: 2001}, `{}`, 2)
	o := options(t)
	o.Limit = 5
	if got := w.replay(t, o); got.Sent != 5 || got.Fates[deadletters.Rest] != some-5 || got.Invalids["bad_json"] != 1 || got.Invalids["other_topic"] != 1 {
		t.Errorf("%+v", got)
	}
	o.Limit, o.Select.Topics = 0, []string{"clicks"}
	got := w.replay(t, o)
	if want := (some + 3) / 4; got.Letters != want || got.Fates[deadletters.Before]+got.Sent != want {
		t.Errorf("%+v", got)
	}
	o.Select.Topics = nil
	w.replay(t, o)
	w.onceEach(t)
}

// A process is killed before and after each of its writes. The next one finds out what was sent, and sends the rest.
func TestKilledAtEveryWrite(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	for n := 0; ; n++ {
		for _, after := range []bool{false, true} {
			w := newWorld(t, some)
			ctx, cancel := context.WithCancel(t.Context())
			k := &killer{n: n, after: after, cancel: cancel}
			_, err := w.replayer(options(t), k.writes).run(ctx)
			cancel()
			if k.count <= n {
				if err != nil || n < 10 {
					t.Errorf("%d writes, %v", n, err)
				}
				w.onceEach(t)
				return
			}
			if err == nil {
				t.Fatalf("killed at write %d, and ended well", n)
			}
			w.replay(t, options(t))
			w.onceEach(t)
			if got := w.replay(t, options(t)); got.Sent != 0 {
				t.Errorf("killed at write %d: the third run sent %d", n, got.Sent)
			}
			if t.Failed() {
				t.Fatalf("killed at write %d, after it: %v", n, after)
			}
		}
	}
}

// A write fails, or its answer is lost. The process finds out which, and goes on.
func TestEveryWriteFailsOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	for n := 1; ; n++ { // without the claim, an operator runs it again
		for _, after := range []bool{false, true} {
			w := newWorld(t, some)
			k := &killer{n: n, after: after}
			got, err := w.replayer(options(t), k.writes).run(t.Context())
			if err != nil || got.Sent != some {
				t.Errorf("%+v, %v", got, err)
			}
			w.onceEach(t)
			if t.Failed() {
				t.Fatalf("write %d failed, after it: %v", n, after)
			}
			if k.count <= n {
				return
			}
		}
	}
}

// A topic grows while letters are sent: what the sealed generation refuses goes to the next one.
func TestReplayWhileATopicGrows(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	w := newWorld(t, some)
	w.fill(t, "visits", 1000+some) // origins beyond the seal would be carried over
	grown := false
	r := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			if p.Topic == "visits" && !grown {
				grown = true
				_ = maintenance.RunGrow(ctx, w.log.Config, w.log.Store, "visits", 5, time.Millisecond, w.log.Logger, func(string, ...any) {}) // nobody counts
			}
			return write(ctx, p, records)
		}
	})
	if got, err := r.run(t.Context()); err != nil || got.Sent != some || !grown {
		t.Errorf("%+v, %v", got, err)
	}
	w.onceEach(t)
	if n, err := topics.Partitions(t.Context(), w.log.Kafka, "visits-g2"); err != nil || n != 5 {
		t.Errorf("%d partitions, %v", n, err)
	}
}

// Kafka deletes what would tell whether letters were sent: they are not sent, unless an operator wants it.
func TestDoubtfulLetters(t *testing.T) {
	w := newWorld(t, 3) // one batch
	ctx, cancel := context.WithCancel(t.Context())
	k := &killer{n: 4, cancel: cancel} // a claim, an intent, two partitions; before the ledger says what was sent
	if _, err := w.replayer(options(t), k.writes).run(ctx); err == nil || len(w.sent(t)) == 0 {
		t.Fatalf("%v; sent: %v", err, w.sent(t))
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(w.log.Config.Kafka.Brokers...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	request := kmsg.NewDeleteRecordsRequest()
	for _, topic := range []string{"visits", "clicks"} {
		ends, err := topics.Ends(t.Context(), w.log.Kafka, topic, partitions)
		if err != nil {
			t.Fatal(err)
		}
		of := kmsg.DeleteRecordsRequestTopic{Topic: topic}
		for p, end := range ends {
			of.Partitions = append(of.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: int32(p), Offset: end})
		}
		request.Topics = append(request.Topics, of)
	}
	if _, err := request.RequestWith(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	got, err := w.replayer(options(t), nil).run(t.Context())
	doubtful := got.Fates[deadletters.Doubtful]
	if err == nil || doubtful == 0 || doubtful+got.Sent != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	o := options(t)
	o.Doubtful = true
	if got := w.replay(t, o); got.Sent != doubtful {
		t.Errorf("%+v", got)
	}
	if got := w.replay(t, options(t)); got.Fates[deadletters.Before] != 3 {
		t.Errorf("%+v", got)
	}
}

// An event that was sent again and fails once more is told, and not sent in a circle.
func TestLettersThatFailAgain(t *testing.T) {
	w := newWorld(t, 2)
	w.replay(t, options(t))
	l := newLedger(w.log.Kafka, "dead-letters-replayed", nil)
	if err := l.look(t.Context()); err != nil || len(l.places) != 2 {
		t.Fatalf("%v, %v", l.places, err)
	}
	for place := range l.places {
		w.bury(t, place, fmt.Sprintf(`{"v":1,"id":"again%d","siteId":"shop","guid":"g","ts":1538352000000,"short_url":"x","ip":"a"}`, place.Offset), 1)
	}
	o := options(t)
	for _, field := range []string{"short_url", "ip"} {
		rule, err := deadletters.ParseRule("drop", field)
		if err != nil {
			t.Fatal(err)
		}
		o.Rules = append(o.Rules, rule)
	}
	o.Select.Topics = []string{"visits"}
	if got := w.replay(t, o); got.Fates[deadletters.Again] != 1 || got.Fates[deadletters.Before] != 1 || got.Sent != 0 {
		t.Errorf("%+v", got)
	}
	o.Again = true
	if got := w.replay(t, o); got.Sent != 1 {
		t.Errorf("%+v", got)
	}
	if got := w.replay(t, o); got.Sent != 0 || got.Fates[deadletters.Before] != 2 {
		t.Errorf("%+v", got)
	}
}

// A ledger that Kafka may forget is refused.
func TestLedgerThatForgets(t *testing.T) {
	for _, c := range []struct {
		partitions int
		want       string
	}{{1, "cleanup.policy=delete"}, {2, "has 2 partitions"}} {
		w := newWorld(t, 1)
		if err := topics.Ensure(t.Context(), w.log.Kafka, []string{"dead-letters-replayed"}, c.partitions, 1, true); err != nil {
			t.Fatal(err)
		}
		if _, err := w.replayer(options(t), nil).run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
