package rollup

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

// chain makes generations of one topic, the oldest first, with so many partitions each; all but the last are sealed at these ends.
func chain(ends ...[]int64) *eventlog.Source {
	var last *eventlog.Source
	for i, list := range ends {
		s := &eventlog.Source{Topic: models.GenerationTopic("clicks", i+1), Inspect: eventlog.NewInspector(eventlog.DecodeClick, len(list)), Before: last}
		if i < len(ends)-1 {
			s.Seal = &eventlog.Seal{Ends: list, At: time.Unix(0, 0)}
		}
		last = s
	}
	return last
}

// A generation waits until all partitions of the one before it are counted to their ends, and all before that, also where one is empty.
func TestAGenerationWaitsForThoseBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		newest := chain([]int64{5, 0, 7}, []int64{0, 0}, []int64{0})
		s := eventlog.NewSuccession(store, newest.Before, newOwner(t, store, 0).log)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Await(ctx)
		opened := make(chan error, 1)
		go func() { opened <- s.Gate(ctx, eventlog.Item{}) }()
		note := func(topic string, number int, to int64) {
			t.Helper()
			tenure, err := store.Take(t.Context(), models.Partition{Topic: topic, Number: number}, "owner")
			if err != nil {
				t.Fatal(err)
			}
			if ok, err := store.Progress(t.Context(), tenure, to); !ok || err != nil {
				t.Fatal(ok, err)
			}
			time.Sleep(time.Minute)
			synctest.Wait()
		}
		for _, p := range []struct {
			number int
			to     int64
		}{{0, 4}, {2, 7}, {0, 5}} {
			if len(opened) > 0 {
				t.Fatalf("it opened before partition %d was counted to %d", p.number, p.to)
			}
			note("clicks", p.number, p.to)
		}
		select {
		case err := <-opened:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("it did not open when all was counted")
		}
		for _, topic := range []string{"clicks", "clicks-g2"} {
			if store.Settings[eventlog.Fact(topic, eventlog.FactCounted)] == "" {
				t.Errorf("nobody recorded that %s is counted", topic)
			}
		}
	})
}

// One who has counted a sealed partition to its end says so at once.
func TestTheEndOfAPartitionIsNotedAtOnce(t *testing.T) {
	store := memstore.New()
	o := newOwner(t, store, 0)
	o.progressAt = time.Now()
	own := o.partitions[p0]
	for _, next := range []int64{4, 5} {
		own.sealed, own.end, own.next = true, 5, next
		own.counted.Store(next)
		if err := o.progress(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := store.OwnerRows[p0].Committed; (got == 5) != (next == 5) {
			t.Errorf("at %d of 5 the store knows of %d", next, got)
		}
	}
}

// What is inherited is the latest of each id, as far from the partition's first offset as the log between says.
func TestInheritance(t *testing.T) {
	f := func(name string, heir *eventlog.Source, log memoryLog, offset int64, age time.Duration, want bool) {
		t.Helper()
		h, r := eventlog.NewHasher(), eventlog.Reach{Offsets: 10, Age: time.Hour}
		e := click(1)
		to := eventlog.PartitionOf([]byte(e.KafkaKey()), heir.Inspect.Partitions)
		b, err := eventlog.Inherit(t.Context(), log, heir, []int{to}, h, r)
		if err != nil {
			t.Fatal(err)
		}
		w := eventlog.NewWindow(r, 0)
		w.Inherited = b.To[to]
		if offset > 0 {
			w.Pass(offset - 1)
		}
		if got := w.See(eventlog.FingerprintOf(h, e.Identity()), offset, time.Unix(0, 0).Add(age)); got != want {
			t.Errorf("%s: a duplicate is %v, want %v", name, got, want)
		}
	}
	first := chain([]int64{4}, []int64{0})
	log := memoryLog{{Topic: "clicks"}: {click(1), click(2), click(2), click(2)}}
	f("within reach", first, log, 6, time.Minute, true) // four before the seal and six after
	f("too far", first, log, 7, time.Minute, false)
	f("too old", first, log, 0, 2*time.Hour, false)
	f("another id", first, memoryLog{{Topic: "clicks"}: {click(2), click(2), click(2), click(2)}}, 0, 0, false)
	f("beyond the seal", chain([]int64{3}, []int64{0}), memoryLog{{Topic: "clicks"}: {click(2), click(2), click(2), click(1)}}, 0, 0, false)
	second := chain([]int64{4}, []int64{3}, []int64{0})
	log[models.Partition{Topic: "clicks-g2"}] = []models.Event{click(2), click(2), click(2)}
	f("over a short generation", second, log, 3, time.Minute, true) // four, three and three
	f("over a short generation, too far", second, log, 4, time.Minute, false)
	log[models.Partition{Topic: "clicks-g2"}] = []models.Event{click(2), click(1), click(2)}
	f("the latest decides", second, log, 8, time.Minute, true)
	f("the latest decides, too far", second, log, 9, time.Minute, false)
}

// memoryLog is a log in memory, all of whose messages are of the same time.
type memoryLog map[models.Partition][]models.Event

func (l memoryLog) Read(_ context.Context, p models.Partition, s eventlog.Span, _ eventlog.Reach, each func(eventlog.Item)) (eventlog.Reading, error) {
	for offset := s.From; offset < min(s.To, int64(len(l[p]))); offset++ {
		each(eventlog.Item{Partition: p, Offset: offset, Event: l[p][offset], At: time.Unix(0, 0)})
	}
	return eventlog.Reading{Span: s, Whole: true}, nil
}

// A retirement was decided when the topic was at some generation: those before it lie before it, those after it beyond.
func TestRetirementsReachLaterGenerations(t *testing.T) {
	r := store.Retirement{Before: modelstest.April, Topic: "visits-g2", From: map[int]int64{0: 5}}
	for at, want := range map[struct {
		topic  string
		offset int64
	}]bool{
		{"visits", 9}: false, {"visits-g2", 4}: false, {"visits-g2", 5}: true, {"visits-g3", 0}: true, {"other", 0}: true, {"other-g2", 0}: true,
	} {
		if got := r.Reached(models.Partition{Topic: at.topic}, at.offset); got != want {
			t.Errorf("offset %d of %s is reached: %v, want %v", at.offset, at.topic, got, want)
		}
	}
}

// click is one of many, of a few links and visitors.
func click(n int) models.Event {
	return &models.Click{V: 1, ID: fmt.Sprint(n), ShortURL: fmt.Sprint("link", n%3), IP: fmt.Sprint("192.0.2.", (n/3)%40), TS: models.Earliest}
}
