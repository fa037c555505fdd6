package e2e

import (
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"footfall/deployments/stack/stacktest"
	"footfall/models"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

var (
	footprintAll    = flag.Bool("footprint.all", false, "every load of TestFootprint, whole; else three short ones")
	footprintBefore = flag.String("footprint.before", "", "a consumer's binary of another version, to count the same loads before this one")
)

// container is the memory of a container whose process has footprintLimit as its GOMEMLIMIT.
const (
	container      = 512 << 20
	footprintLimit = "GOMEMLIMIT=460MiB"
)

// footprint is a load that once took a consumer more memory than it has.
type footprint struct {
	name       string
	features   int
	partitions int  // of each topic; 0: 6
	short      bool // in the short form, in a deployment with four features
	load       func(whole bool) iter.Seq[record]
	// killed: the consumer is killed in the midst, so that its successor has doubts to check. What meanwhile does to the tables it finds, too.
	killed    bool
	meanwhile func(*testing.T, *real)
}

// record is one message: an event, or nothing that counts in a partition.
type record struct {
	event     models.Event
	padding   int // bytes of white space after the event
	filler    int // messages that are no events, instead of one
	topic     int // of the filler: 0 clicks, 1 visits
	partition int // of the filler
}

var footprints = []footprint{
	{name: "messages of 1 MB", features: 2, short: true, load: func(whole bool) iter.Seq[record] { return largeClicks(pick(whole, 500, 200)) }},
	{name: "features of 1 KB", features: 4, load: func(bool) iter.Seq[record] { return wideVisits(10_000) }}, // some 400 KB of statements each
	{name: "visitors with 400 entries", features: 2, short: true, load: func(whole bool) iter.Seq[record] { return visits(pick(whole, 6000, 60), 400) }},
	{name: "clicks and visits", features: 2, load: func(bool) iter.Seq[record] { return both(clicks(200_000), visits(50_000, 4)) }},
	{name: "visitors with 100 entries", features: 2, load: func(bool) iter.Seq[record] { return visits(12_500, 100) }},
	{name: "visitors with 1,000 entries", features: 2, load: func(bool) iter.Seq[record] { return visits(1_000, 1_000) }},
	{name: "4 features, killed, the site broken", features: 4, killed: true, meanwhile: breakSite, short: true, load: func(whole bool) iter.Seq[record] { return visits(pick(whole, 10_000, 300), 20) }},
	{name: "6 features, killed, the site broken", features: 6, killed: true, meanwhile: breakSite, load: func(bool) iter.Seq[record] { return visits(5_000, 10) }},
	{name: "ledger of 1 epoch", features: 2, killed: true, meanwhile: age(1), load: func(bool) iter.Seq[record] { return clicks(100_000) }},
	{name: "ledger of 10 epochs", features: 2, killed: true, meanwhile: age(10), load: func(bool) iter.Seq[record] { return clicks(100_000) }},
	{name: "ledger of 40 epochs", features: 2, killed: true, meanwhile: age(40), load: func(bool) iter.Seq[record] { return clicks(100_000) }},
	{name: "40 partitions with full windows", features: 2, partitions: 20, load: func(bool) iter.Seq[record] { return windows(20, visits(20_000, 4)) }},
	{name: "200 partitions with full windows", features: 2, partitions: 100, load: func(bool) iter.Seq[record] { return windows(100, visits(20_000, 4)) }},
}

func pick(whole bool, a, b int) int {
	if whole {
		return a
	}
	return b
}

var footprintDay = models.Millis(time.Date(2018, 10, 17, 12, 0, 0, 0, time.UTC).UnixMilli())

// visits are of so many visitors, each of whom sees a page of its own, then another one, …
func visits(visitors, pages int) iter.Seq[record] {
	return func(yield func(record) bool) {
		for page := range pages {
			for who := range visitors {
				v := &models.Visit{V: 1, ID: fmt.Sprintf("%d-%d", who, page), SiteID: "site", GUID: fmt.Sprintf("guid-%d", who), TS: footprintDay,
					Features: []string{fmt.Sprintf("referrer-%d", page%7), fmt.Sprintf("/page-%d", page)}}
				if !yield(record{event: v}) {
					return
				}
			}
		}
	}
}

// wideVisits have four features of 1 KB each that nobody else has.
func wideVisits(n int) iter.Seq[record] {
	return func(yield func(record) bool) {
		for i := range n {
			long := func(name string) string { return fmt.Sprintf("%s-%d-%s", name, i, strings.Repeat("x", 1000)) }
			v := &models.Visit{V: 1, ID: strconv.Itoa(i), SiteID: "wide", GUID: fmt.Sprintf("guid-%d", i%1000), TS: footprintDay,
				Features: []string{long("a"), long("b"), long("c"), long("d")}}
			if !yield(record{event: v}) {
				return
			}
		}
	}
}

func clicks(n int) iter.Seq[record] {
	return func(yield func(record) bool) {
		for i := range n {
			if !yield(record{event: &models.Click{V: 1, ID: strconv.Itoa(i), ShortURL: fmt.Sprintf("link-%d", i%50_000), IP: fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255),
				TS: footprintDay, Country: "IT", Referrer: "https://example.com"}}) {
				return
			}
		}
	}
}

// largeClicks are valid, and nearly as large as Kafka takes them.
func largeClicks(n int) iter.Seq[record] {
	return func(yield func(record) bool) {
		for r := range clicks(n) {
			if r.padding = 1_000_000; !yield(r) {
				return
			}
		}
	}
}

func both(a, b iter.Seq[record]) iter.Seq[record] {
	return func(yield func(record) bool) {
		for _, s := range []iter.Seq[record]{a, b} {
			for r := range s {
				if !yield(r) {
					return
				}
			}
		}
	}
}

// windows fills the duplicate window of every partition: what follows lies further on than it reaches.
func windows(partitions int, then iter.Seq[record]) iter.Seq[record] {
	return func(yield func(record) bool) {
		for topic := range 2 {
			for p := range partitions {
				if !yield(record{filler: 100_000, topic: topic, partition: p}) {
					return
				}
			}
		}
		for r := range both(clicks(50*partitions), then) {
			if !yield(r) {
				return
			}
		}
	}
}

// TestFootprint counts loads with a real consumer, and looks from outside how much memory the process ever had: never more than its container
// has. All cells equal the oracle's.
func TestFootprint(t *testing.T) {
	t.Parallel()
	if *footprintAll {
		for _, f := range footprints {
			t.Run(f.name, func(t *testing.T) {
				if *footprintBefore != "" {
					d := prepareFootprint(t, f, *footprintBefore)
					d.produce(t, f, true, nil)
					d.footprintBefore(t, f)
				}
				consumer := binaries.Path(t, "consumer")
				d := prepareFootprint(t, f, consumer)
				holds(t, d, f, consumer, true, d.kept().oracle())
			})
		}
		return
	}
	consumer := binaries.Path(t, "consumer")
	d := prepareFootprint(t, footprint{features: 4}, consumer)
	want := d.kept().oracle()
	for _, f := range footprints {
		if f.short {
			holds(t, d, f, consumer, false, want)
		}
	}
}

// prepareFootprint makes the tables and topics of a load.
func prepareFootprint(t *testing.T, f footprint, consumer string) *real {
	names := []string{"feature1", "feature2", "feature3", "feature4", "feature5", "feature6"}
	kafkaAddress, host, port := stacktest.Require(t)
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	d := describe(t, kept{names[:f.features], byDefault.metrics}, kafkaAddress, cluster, footprintLimit, "FOOTFALL_LATEST_ENABLED=false",
		"FOOTFALL_KAFKA_PARTITIONS="+strconv.Itoa(max(f.partitions, 6)))
	d.migrateBy(t, consumer)
	d.open(t, 0)
	return d
}

func holds(t *testing.T, d *real, f footprint, consumer string, whole bool, want *oracle.Oracle) {
	t.Helper()
	d.produce(t, f, whole, want)
	peak := d.footprint(t, f, consumer)
	t.Logf("| %s | now | %d MiB |", f.name, peak>>20)
	if peak > container {
		t.Errorf("%s: the consumer had %d MiB, and its container has %d", f.name, peak>>20, container>>20)
	}
	equal(t, want.Cells(), d.dump(t))
}

// footprint runs a consumer until everything is counted, and returns the most memory that it had.
func (d *real) footprint(t *testing.T, f footprint, binary string) (peak int64) {
	t.Helper()
	all, err := d.Lag(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := d.addConsumerOf(t, binary)
	if f.killed {
		d.lagBelow(t, all/2)
		peak = mostMemory(t, c.Process)
		c.Kill()
		if f.meanwhile != nil {
			f.meanwhile(t, d)
		}
		c = d.addConsumerOf(t, binary)
	}
	tooMany := f.partitions >= 100 && binary == binaries.Path(t, "consumer")
	if tooMany {
		d.countedWhatFits(t, c)
	} else {
		d.lagBelow(t, 0)
	}
	if f.killed {
		d.checked(t)
	}
	peak = max(peak, mostMemory(t, c.Process))
	if tooMany { // more consumers count the rest
		for range 3 {
			d.addConsumerOf(t, binary)
		}
		d.lagBelow(t, 0)
	}
	if !c.Running() {
		t.Fatalf("%s: the consumer has ended\n%s", f.name, c.Tail(20))
	}
	if err := c.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	return peak
}

// footprintBefore is footprint of another version, for three minutes, or until it has more memory than its container, which would kill it.
func (d *real) footprintBefore(t *testing.T, f footprint) {
	t.Helper()
	c := d.addConsumerOf(t, *footprintBefore)
	all, _ := d.Lag(t.Context())
	killed, begun, end := !f.killed, time.Now(), "counted all"
	for {
		lag, err := d.Lag(t.Context())
		switch {
		case err != nil:
			t.Fatal(err)
		case !killed && lag < all/2:
			c.Kill()
			if f.meanwhile != nil {
				f.meanwhile(t, d)
			}
			all, begun, killed = lag, time.Now(), true
			c = d.addConsumerOf(t, *footprintBefore)
			continue
		case mostMemory(t, c.Process) > container:
			end = "its container would kill it"
		case time.Since(begun) > 3*time.Minute:
			end = "was not done after three minutes"
		case !c.Running():
			end = "has ended"
		case lag > 0 || f.killed && time.Since(begun) < time.Minute: // and checks its doubts
			time.Sleep(100 * time.Millisecond)
			continue
		}
		t.Logf("| %s | before | %d MiB | %.0f/s | %s |", f.name, mostMemory(t, c.Process)>>20, float64(all-lag)/time.Since(begun).Seconds(), end)
		c.Kill()
		return
	}
}

// countedWhatFits waits until a consumer has counted all of the partitions that there is memory for: some of each topic, with full windows.
func (d *real) countedWhatFits(t *testing.T, c *consumer) {
	t.Helper()
	harness.Within(t, 20*time.Minute, "counting what fits", func() error {
		now, err := process.Metrics(t.Context(), c.url)
		if err != nil {
			return err
		}
		lag, owned := 0.0, 0.0
		for name, value := range now {
			if strings.HasPrefix(name, "footfall_lag_events{") {
				lag += value
			}
		}
		for _, topic := range d.Topics[:2] {
			some, of := now[fmt.Sprintf("footfall_partitions_owned{topic=%q}", topic)], now[fmt.Sprintf("footfall_topic_partitions{topic=%q}", topic)]
			if some <= 0 || some >= of { // FootfallPartitionsUnowned tells operators of the others
				return fmt.Errorf("%v of %v partitions of %s are owned", some, of, topic)
			}
			owned += some
		}
		windows := now[`footfall_memory_bytes{use="windows"}`] / (1 << 20)
		if lag > 0 || windows < 3.5*owned {
			return fmt.Errorf("%v messages of %v partitions are not counted, windows take %.0f MiB", lag, owned, windows)
		}
		t.Logf("%v partitions fit, whose windows take %.0f MiB", owned, windows)
		return nil
	})
}

// breakSite takes what the counters of the whole site hold out of them, with ledger rows that say so, as if somebody had repaired what was right. All
// is in doubt, so the consumer has to count it again from the log.
func breakSite(t *testing.T, d *real) {
	t.Helper()
	time.Sleep(5 * time.Second) // longer than any write timeout: nothing of the consumer that was killed lands any more
	where := " WHERE siteid = 'site' AND month_interval_start = '2018-10-01 00:00:00+0000'"
	for _, name := range d.keeps.features {
		where += " AND " + name + " = ''"
	}
	counts, applied := "cardinality"+d.suffix+".counts", "cardinality"+d.suffix+".applied"
	batch := d.session.NewBatch(gocql.CounterBatch)
	var metric, topic string
	var start time.Time
	var visits, epoch, from, to, total int64
	var partition int
	rows := d.session.Query("SELECT metric_type, interval_start, visits FROM " + counts + where).Iter()
	for rows.Scan(&metric, &start, &visits) {
		total += visits
		batch.Query("UPDATE "+counts+" SET visits = visits - ?"+where+" AND metric_type = ? AND interval_start = ?", visits, metric, start)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if total == 0 {
		t.Fatal("nothing of the site was counted before the kill")
	}
	rows = d.session.Query("SELECT topic, kafka_partition, epoch, from_offset, to_offset FROM " + applied + where).Iter()
	for rows.Scan(&topic, &partition, &epoch, &from, &to) {
		batch.Query("UPDATE "+applied+" SET from_offset = from_offset + ?, to_offset = to_offset + ?"+where+
			" AND topic = ? AND kafka_partition = ? AND kind = 'minus' AND epoch = ?", from, to, topic, partition, epoch)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.session.ExecuteBatch(batch); err != nil {
		t.Fatal(err)
	}
	ends, err := d.Ends(t.Context(), d.Topics[1])
	if err != nil {
		t.Fatal(err)
	}
	for p, end := range ends {
		insert := func(columns, marks string, more ...any) error {
			return d.session.Query("INSERT INTO footfall"+d.suffix+".doubts (topic, kafka_partition, id, from_offset, to_offset, reason, noted_at, checks"+columns+
				") VALUES (?, ?, ?, 0, ?, 'the site is broken', ?, 0"+marks+")", append([]any{p.Topic, p.Number, p.Number + 1, end, time.Now()}, more...)...).Exec()
		}
		if err := insert(", since, due", ", ?, ?", time.Now(), time.Now()); err != nil {
			err = insert("", "") // a version before doubts had these
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// age gives each link a ledger row in each partition for so many owners before, none of whom counted anything of it.
func age(epochs int) func(*testing.T, *real) {
	return func(t *testing.T, d *real) {
		t.Helper()
		links := make(chan string)
		var writers errgroup.Group
		for range 16 {
			writers.Go(func() (failed error) {
				for link := range links {
					batch := d.session.NewBatch(gocql.CounterBatch)
					for row := range 6 * epochs {
						batch.Query("UPDATE urlshortener"+d.suffix+".applied SET to_offset = to_offset + 0 WHERE short_url = ? AND topic = ? AND kafka_partition = ?"+
							" AND kind = 'owner' AND epoch = ?", link, d.Topics[0], row%6, row/6+1)
					}
					failed = errors.Join(failed, d.session.ExecuteBatch(batch))
				}
				return failed
			})
		}
		for r := range clicks(50_000) {
			links <- r.event.(*models.Click).ShortURL
		}
		close(links)
		if err := writers.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *real) lagBelow(t *testing.T, most int64) {
	t.Helper()
	harness.Within(t, 20*time.Minute, "counting", func() error {
		lag, err := d.Lag(t.Context())
		if err == nil && lag > most {
			err = fmt.Errorf("%d messages are not counted", lag)
		}
		return err
	})
}

// checked waits until the doubts that a kill left were checked once.
func (d *real) checked(t *testing.T) {
	t.Helper()
	harness.Within(t, 5*time.Minute, "the first check of the doubts", func() error {
		least := 1 << 30
		var checks int
		rows := d.session.Query("SELECT checks FROM footfall" + d.suffix + ".doubts").Iter()
		for rows.Scan(&checks) {
			least = min(least, checks)
		}
		if err := rows.Close(); err != nil {
			return err
		}
		if least == 0 {
			return fmt.Errorf("a doubt was not checked")
		}
		return nil
	})
}

// mostMemory is the most memory that a process ever had, as the kernel knows it.
func mostMemory(t *testing.T, p *process.Process) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if kb, found := strings.CutPrefix(line, "VmHWM:"); found {
			n, err := strconv.ParseInt(strings.Fields(kb)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("the kernel does not tell how much memory a process had")
	return 0
}

// produce writes a load to the topics, each event to its visitor's partition, and tells the oracle.
func (d *real) produce(t *testing.T, f footprint, whole bool, want *oracle.Oracle) {
	t.Helper()
	type place struct{ topic, partition int }
	batches, sizes := map[place][]kafka.Record{}, map[place]int{}
	flush := func(at place) {
		harness.Within(t, time.Minute, "writing the load", func() error {
			answer, err := d.Client.Produce(t.Context(), &kafka.ProduceRequest{Topic: d.Topics[at.topic], Partition: at.partition, RequiredAcks: kafka.RequireAll,
				Records: kafka.NewRecordReader(batches[at]...), Compression: kafka.Lz4})
			if err == nil {
				err = answer.Error
			}
			if err != nil && !errors.Is(err, kafka.NotLeaderForPartition) && !errors.Is(err, kafka.UnknownTopicOrPartition) { // of new topics: nothing was written
				t.Fatal(err)
			}
			return err
		})
		batches[at], sizes[at] = nil, 0
	}
	partitions := max(f.partitions, 6)
	plan, err := models.NewPlan(d.keeps.features, models.AllMetrics())
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]int, partitions)
	for i := range numbers {
		numbers[i] = i
	}
	add := func(at place, key, value []byte) {
		size := len(key) + len(value) + 40
		if sizes[at]+size > 900_000 && sizes[at] > 0 {
			flush(at)
		}
		batches[at], sizes[at] = append(batches[at], kafka.Record{Key: kafka.NewBytes(key), Value: kafka.NewBytes(value)}), sizes[at]+size
	}
	for r := range f.load(whole) {
		for range r.filler {
			add(place{r.topic, r.partition}, nil, []byte("is this topic sealed?"))
		}
		if r.event == nil {
			continue
		}
		at := place{}
		switch e := r.event.(type) {
		case *models.Click:
			if want != nil {
				want.Click(e)
			}
		case *models.Visit:
			at.topic = 1
			e.Plan = plan
			for len(e.Features) < len(d.keeps.features) {
				e.Features = append(e.Features, "same")
			}
			e.Features = e.Features[:len(d.keeps.features)]
			if want != nil {
				want.Visit(e)
			}
		}
		key := []byte(r.event.KafkaKey())
		at.partition = kafka.Murmur2Balancer{Consistent: true}.Balance(kafka.Message{Key: key}, numbers...)
		value, err := models.AppendEvent(nil, r.event)
		if err != nil {
			t.Fatal(err)
		}
		add(at, key, append(value, strings.Repeat(" ", r.padding)...))
	}
	for at := range batches {
		if len(batches[at]) > 0 {
			flush(at)
		}
	}
}
