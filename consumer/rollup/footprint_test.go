package rollup

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/gcpacer"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/test/harness"
)

var footprintEvents = flag.Int("footprint.events", 200_000, "how many events TestFootprint counts; 1500000 fill all caches")

// TestMain lets this test binary run as a consumer under full load, so that its memory is not that of the tests.
func TestMain(m *testing.M) { harness.Main(m, map[string]func(){"loaded": underLoad}) }

// swallow is a store that takes everything at once and remembers nothing: what remains is the consumer's own memory, and its full speed.
type swallow struct{ *memstore.Memory }

func (swallow) FirstSeen(_ context.Context, sightings []models.Sighting) ([]models.Position, error) {
	return make([]models.Position, len(sightings)), nil
}
func (swallow) Remember(context.Context, []models.Sighting, []models.Position) error      { return nil }
func (swallow) Visitors(context.Context, []models.Visitor, func(int, models.First)) error { return nil }
func (swallow) RememberFirsts(context.Context, []models.Visitor, [][]models.First) error  { return nil }
func (swallow) ListNames(context.Context, []models.Name) error                            { return nil }
func (swallow) Ledger(context.Context, []models.Key, func(int, []store.LedgerRow)) error  { return nil }
func (swallow) Apply(_ context.Context, writes []store.KeyWrite) []error {
	return make([]error, len(writes))
}

// underLoad counts events as fast as it can, with the defaults of a consumer and six partitions of each topic: three clicks, each on a link of its own,
// to seven visits, each of a visitor of its own. It prints the most memory that it had.
func underLoad() {
	gcpacer.Relax()
	var events int
	_, err := fmt.Sscan(os.Getenv("FOOTFALL_TEST_EVENTS"), &events)
	must(err)
	cfg, err := configs.LoadConsumer("")
	must(err)
	c, err := New(cfg, swallow{memstore.New()}, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
	must(err)
	o := c.newOwnership(context.Background(), nil)
	for i := range 12 {
		p := models.Partition{Topic: []string{"clicks", "visits"}[i%2], Number: i / 2}
		o.partitions[p] = &owned{window: eventlog.NewWindow(c.Reach(), 0), highWater: int64(events)}
	}
	must(o.take(context.Background()))
	must(c.retirements.Read(context.Background()))
	items := make(chan eventlog.Item, 1024)
	stop, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		produce(items, events)
		for o.counted() < int64(events) {
			time.Sleep(time.Millisecond)
		}
	}()
	noGroup := func(context.Context, map[models.Partition]eventlog.GroupOffset) error { return nil }
	must(o.count(stop, context.Background(), items, limits{cfg.Chunk.MaxEvents, cfg.Chunk.MaxBytes, cfg.Chunk.MaxAge}, noGroup))
	status, err := os.Open("/proc/self/status")
	must(err)
	for lines := bufio.NewScanner(status); lines.Scan(); {
		if kb, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			fmt.Println(strings.TrimSuffix(strings.TrimSpace(kb), " kB"))
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// counted is how many offsets of all partitions are counted.
func (o *ownership) counted() (n int64) {
	for _, own := range o.partitions {
		n += own.counted.Load()
	}
	return n
}

// produce hands on events as fetchers do: some hundred of a partition at a time.
func produce(items chan<- eventlog.Item, events int) {
	next := map[models.Partition]int64{}
	start := models.Millis(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli())
	for i := range events {
		p := models.Partition{Topic: "visits", Number: i / 1000 % 6}
		ts := start + models.Millis(i)
		id := fmt.Sprintf("01a1e82b-7d5f-7542-b09e-%012d", i)
		var event models.Event = &models.Visit{
			V: 1, ID: id, SiteID: fmt.Sprintf("site%04d", i*i%1999), GUID: fmt.Sprintf("962e0c3a-6c08-4160-9196-%012d", i), TS: ts,
			Features: []string{fmt.Sprint(i*i%8, ".example.com"), fmt.Sprint("/page", i%50)},
		}
		if i%1000 < 300 {
			p.Topic = "clicks"
			event = &models.Click{V: 1, ID: id, ShortURL: fmt.Sprintf("l%07d", i), IP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), TS: ts, Country: "IT"}
		}
		items <- eventlog.Item{Partition: p, Offset: next[p], Event: event, Value: make([]byte, 250), At: time.Now(), HighWater: int64(events)}
		next[p]++
	}
}

// A consumer with the default settings in a container of 512 MB stays within it under full load: nine tenths are Go's limit (memlimit).
func TestFootprint(t *testing.T) {
	const container = 512 << 20
	if raced || testing.Short() {
		t.Skip("the race detector takes several times the memory, and it takes ten seconds: make seeds runs it")
	}
	printed, err := harness.Self(t, "loaded", []string{
		fmt.Sprintf("GOMEMLIMIT=%d", container/10*9), fmt.Sprintf("FOOTFALL_TEST_EVENTS=%d", *footprintEvents),
	}).Output()
	if err != nil {
		t.Fatalf("%s: %v", printed, err)
	}
	var kb int
	if _, err := fmt.Sscan(string(printed), &kb); err != nil {
		t.Fatalf("%q: %v", printed, err)
	}
	t.Logf("%d events: %d MB at the most", *footprintEvents, kb*1024/1_000_000)
	if kb*1024 > container {
		t.Errorf("%d kB at the most, want %d", kb, container/1024)
	}
}
