package eventlog

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"footfall/configs"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

// chain makes generations of one topic, the oldest first, and returns the last. Each list has an end offset per partition; all but the last
// generation are sealed there.
func chain(ends ...[]int64) *Source {
	var last *Source
	for i, list := range ends {
		s := &Source{Topic: models.GenerationTopic("clicks", i+1), Inspect: NewInspector(models.DefaultPlan().DecodeClick, len(list)), Before: last}
		if i < len(ends)-1 {
			s.Seal = &Seal{Ends: list, At: time.Unix(0, 0)}
		}
		last = s
	}
	return last
}

// A generation waits until all partitions of all generations before it are counted to their seals. One of them is empty.
func TestSuccessionWaitsForTheGenerationsBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		newest := chain([]int64{5, 0, 7}, []int64{0, 0}, []int64{0})
		s := newSuccession(store, newest.Before, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go s.Await(ctx)
		opened := make(chan error, 1)
		go func() { opened <- s.Gate(ctx, Item{}) }()
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
				t.Fatalf("the gate opened before partition %d was counted to %d", p.number, p.to)
			}
			note("clicks", p.number, p.to)
		}
		select {
		case err := <-opened:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the gate did not open when all was counted")
		}
		for _, topic := range []string{"clicks", "clicks-g2"} {
			if store.Settings[Fact(topic, FactCounted)] == "" {
				t.Errorf("the store does not record that %s is counted", topic)
			}
		}
	})
}

// A partition inherits the latest event of each id. Its distance is the number of offsets between, over all generations in between.
func TestInherit(t *testing.T) {
	f := func(name string, heir *Source, log memoryLog, offset int64, age time.Duration, want bool) {
		t.Helper()
		h, r := NewHasher(), Reach{Offsets: 10, Age: time.Hour}
		e := click(1)
		to := PartitionOf([]byte(e.KafkaKey()), heir.Inspect.Partitions)
		b, err := Inherit(t.Context(), log, heir, []int{to}, h, r)
		if err != nil {
			t.Fatal(err)
		}
		w := NewWindow(r, 0)
		w.Inherited = b.To[to]
		if offset > 0 {
			w.Pass(offset - 1)
		}
		if got := w.See(FingerprintOf(h, e.Identity()), offset, time.Unix(0, 0).Add(age)); got != want {
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

// memoryLog is a log in memory, whose messages all have the same time.
type memoryLog map[models.Partition][]models.Event

func (l memoryLog) Read(_ context.Context, p models.Partition, s Span, _ Reach, each func(Item)) (Reading, error) {
	for offset := s.From; offset < min(s.To, int64(len(l[p]))); offset++ {
		each(Item{Partition: p, Offset: offset, Event: l[p][offset], At: time.Unix(0, 0)})
	}
	return Reading{Span: s, Whole: true}, nil
}

// click is the n-th click, of a few links and visitors.
func click(n int) models.Event {
	return &models.Click{V: 1, ID: fmt.Sprint(n), ShortURL: fmt.Sprint("link", n%3), IP: fmt.Sprint("192.0.2.", (n/3)%40), TS: models.Earliest}
}

// The ids that a partition inherits are in memory until they are out of reach: the window's length has them, at no more than 40 bytes each, and nothing
// else keeps them.
func TestInheritedIDsAreCounted(t *testing.T) {
	const ids = 50_000
	heir, log := chain([]int64{ids}, []int64{0}), memoryLog{}
	for n := range ids {
		log[models.Partition{Topic: "clicks"}] = append(log[models.Partition{Topic: "clicks"}], click(n))
	}
	h, r := NewHasher(), Reach{Offsets: ids, Age: time.Hour}
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // twice: what is in pools goes with the second
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	topic := &heirTopic{read: func(ctx context.Context, partitions []int) (Bequest, error) {
		return Inherit(ctx, log, heir, partitions, h, r)
	}}
	heirs := Heirs{Sources: Sources{heir.Topic: heir}, byTopic: map[string]*heirTopic{}, make: func(*Source) *heirTopic { return topic }}
	fetcher, w := &Fetcher{Partition: models.Partition{Topic: heir.Topic}}, NewWindow(r, 0)
	empty := w.Length()
	heirs.Add(fetcher, w)
	measured := make(chan int)
	go func() { measured <- w.Length() }() // as the metric does, while the fetcher begins
	if err := fetcher.ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-measured
	if held := int(heap() - before); w.Length() != empty+ids || held > 40*ids {
		t.Errorf("the window has %d ids in %d bytes, want %d in %d", w.Length(), held, empty+ids, 40*ids)
	}
	w.See(FingerprintOf(h, click(0).Identity()), ids+1, time.Unix(0, 0))
	length := len(w.seen.ring)
	if held := int(heap() - before); w.Length() != length || held > 41*length {
		t.Errorf("out of reach, the window has %d ids in %d bytes, want %d in %d", w.Length(), held, length, 40*length)
	}
	runtime.KeepAlive(heirs)
	runtime.KeepAlive(log)
}

// A click counts in what is kept, and in nothing else.
func TestBasesDecodeByThePlan(t *testing.T) {
	plan, err := models.NewPlan(models.DefaultFeatures(), []string{models.DayViews, models.BrowserMonths})
	if err != nil {
		t.Fatal(err)
	}
	l := &Log{Config: configs.Consumer{}, Plan: plan}
	l.Config.Kafka.Topics = configs.Topics{Clicks: "clicks", Visits: "visits"}
	for topic, fields := range map[string][]models.Field{"clicks": models.ClickFields, "visits": plan.Fields()} {
		event, err := l.Bases()[topic](modelstest.Message(fields, "bot"))
		if err != nil {
			t.Fatal(err)
		}
		cells := modelstest.Cells{}
		event.Count(modelstest.Seen{}.First(event), cells.Add)
		for _, of := range cells {
			for cell := range of {
				if c, _ := models.CounterOf(cell.Counter); c.Chosen && !slices.Contains(plan.Metrics(), c.Name) {
					t.Errorf("%s: %s is not kept, but counted", topic, c.Name)
				}
			}
		}
	}
}
