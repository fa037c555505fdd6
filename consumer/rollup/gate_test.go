package rollup

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/internal/budget"
	"footfall/internal/kafka/dial"
	"footfall/internal/retry"
	"footfall/models"
	"footfall/models/modelstest"
)

// twoPartitions is a broker in process with two partitions, and an owner that counts what is sent to them.
type twoPartitions struct {
	*memstore.Memory
	o         *ownership
	via       dial.Kafka
	client    *kgo.Client
	events    map[string]models.Event // by id, which is what the messages are
	committed chan map[models.Partition]eventlog.GroupOffset
	ended     chan error
}

func newTwoPartitions(t *testing.T) *twoPartitions {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, p0.Topic, visits0.Topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	l := &twoPartitions{
		Memory: memstore.New(), events: map[string]models.Event{}, committed: make(chan map[models.Partition]eventlog.GroupOffset, 100), ended: make(chan error, 3),
	}
	if l.client, err = kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.client.Close)
	l.via = dial.Plain(cluster.ListenAddrs()...)
	l.o = newOwner(t, l.Memory, 0)
	l.o.retirements = eventlog.NewRetirementWatcher(l.Memory, l.o.log)
	delete(l.o.partitions, p1)
	l.o.partitions[visits0] = &owned{window: eventlog.NewWindow(eventlog.Reach{Offsets: 100, Age: time.Hour}, 0), highWater: 100}
	return l
}

func (l *twoPartitions) send(t *testing.T, topic string, e models.Event) {
	t.Helper()
	l.Mu.Lock()
	l.events[e.EventID()] = e
	l.Mu.Unlock()
	l.write(t, &kgo.Record{Topic: topic, Key: []byte(e.KafkaKey()), Value: []byte(e.EventID())})
}

func (l *twoPartitions) write(t *testing.T, record *kgo.Record) {
	t.Helper()
	if err := l.client.ProduceSync(t.Context(), record).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// start fetches both partitions and counts their events, until ctx ends.
func (l *twoPartitions) start(ctx, work context.Context) {
	decode := func(id []byte) (models.Event, error) {
		l.Mu.Lock()
		defer l.Mu.Unlock()
		return l.events[string(id)], nil
	}
	items := make(chan eventlog.Item, 1024)
	for _, p := range []models.Partition{p0, visits0} {
		f := &eventlog.Fetcher{Kafka: l.via, Partition: p, Inspect: eventlog.NewInspector(decode, 1), Gates: []eventlog.Gate{l.o.retirements.Gate}, Logger: l.o.log}
		go func() { l.ended <- f.Run(ctx, items) }()
	}
	go func() {
		l.ended <- l.o.count(ctx, work, items, limits{50, 1 << 20, 10 * time.Millisecond}, func(_ context.Context, at map[models.Partition]eventlog.GroupOffset) error {
			l.committed <- at
			return nil
		})
	}()
}

// until waits for a commit of both offsets. The test fails if a commit goes further, or if none comes.
func (l *twoPartitions) until(t *testing.T, clicks, visits int64) {
	t.Helper()
	for patience := time.After(20 * time.Second); ; {
		select {
		case at := <-l.committed:
			c, v := at[p0].Offset, at[visits0].Offset
			if c > clicks || v > visits {
				t.Fatalf("committed %v, want clicks to %d and visits to %d", at, clicks, visits)
			}
			if c == clicks && v == visits {
				return
			}
		case <-patience:
			t.Fatalf("nobody counted clicks to %d and visits to %d", clicks, visits)
		}
	}
}

// Large messages wait in the log rather than in memory while nobody takes them, and those of a partition that waits at a gate are not in the way of
// others.
func TestLargeMessagesWaitInTheLog(t *testing.T) {
	const size, room, messages = 900_000, 4 << 20, 20
	l := newTwoPartitions(t)
	for range messages {
		l.write(t, &kgo.Record{Topic: visits0.Topic, Value: make([]byte, size)})
		l.write(t, &kgo.Record{Topic: p0.Topic, Value: make([]byte, size)})
	}
	click := &models.Click{V: 1, ID: "a", ShortURL: "abc", IP: "192.0.2.1", TS: models.Earliest}
	decode := func([]byte) (models.Event, error) { return click, nil }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	items, fetched, held := make(chan eventlog.Item, 1024), budget.NewRoom(room), make(chan struct{})
	for _, p := range []models.Partition{p0, visits0} {
		gate := func(ctx context.Context, _ eventlog.Item) error {
			if p == visits0 {
				close(held)
				<-ctx.Done()
			}
			return ctx.Err()
		}
		f := &eventlog.Fetcher{Kafka: l.via, Partition: p, Inspect: eventlog.NewInspector(decode, 1), Gates: []eventlog.Gate{gate}, Logger: l.o.log, Room: fetched}
		go func() { l.ended <- f.Run(ctx, items) }()
	}
	select {
	case <-held:
	case <-time.After(20 * time.Second):
		t.Fatal("no message is at the gate: does it wait for room before?")
	}
	for taken := range messages {
		it := <-items
		if n := fetched.Held(); n > room || it.Partition != p0 || it.Offset != int64(taken) {
			t.Fatalf("%d bytes are held, and message %d is %v %d", n, taken, it.Partition, it.Offset)
		}
		fetched.Give(it.Bytes)
		if waiting := len(items); waiting > room/size {
			t.Fatalf("%d messages wait in memory, want at most %d", waiting, room/size)
		}
	}
	if n := fetched.Held(); n != 0 {
		t.Errorf("who waits at a gate holds %d bytes: all such partitions together would stop the others", n)
	}
	cancel()
	for range 2 {
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	}
}

// A visit that waits for the decision of a retirement parks its own partition, with all events after it. The other partition is
// counted meanwhile.
func TestAHeldVisitParksItsOwnPartitionOnly(t *testing.T) {
	l := newTwoPartitions(t)
	announced := store.Retirement{Before: modelstest.April, Topic: visits0.Topic}
	if err := l.Announce(t.Context(), announced); err != nil {
		t.Fatal(err)
	}
	l.send(t, visits0.Topic, modelstest.VisitAt(time.March, 5))
	l.send(t, visits0.Topic, modelstest.VisitAt(time.April, 5))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l.start(ctx, t.Context())
	for l.o.retirements.Age() >= store.NoticeAge { // until the visit has made the watcher read the notices
		if err := retry.Sleep(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	for i, ip := range []string{"192.0.2.1", "192.0.2.2"} {
		l.send(t, p0.Topic, &models.Click{V: 1, ID: ip, ShortURL: "abc", IP: ip, TS: models.Earliest})
		l.until(t, int64(i)+1, 0)
	}
	if ok, err := l.Decide(t.Context(), announced, map[int]int64{0: 0}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	l.until(t, 2, 2)
	if letters := l.o.deadLetters.(*keptDeadLetters).letters; len(letters) != 1 {
		t.Errorf("%d dead letters, want the visit of March", len(letters))
	}
	cancel()
	for range 3 {
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
	}
}
