package maintenance_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/consumer/eventlog"
	"footfall/consumer/maintenance"
	"footfall/consumer/rebuild"
	"footfall/consumer/rollup"
	"footfall/consumer/store/memstore"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

// consumer grow is stopped after it sealed the topic and before it recorded the seal. Running consumers warn of it after a while, with the
// command to run. That command finishes the job, and every event is counted.
func TestConsumersWarnOfAHalfGrownTopic(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 2)
	f.send(t, click(1))
	var said strings.Builder
	c, err := rollup.New(f.cfg, f.store, prometheus.NewRegistry(), slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil {
		t.Fatal(err)
	}
	src, err := c.Sources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := topics.CreateLike(t.Context(), c.Kafka, "clicks-g2", "clicks", 3); err != nil {
		t.Fatal(err)
	}
	if _, err := topics.Seal(t.Context(), c.Kafka, "clicks"); err != nil {
		t.Fatal(err)
	}
	since := map[string]time.Time{}
	for range 2 {
		if err := c.Look(t.Context(), src, since); err != nil {
			t.Fatal(err)
		}
	}
	if said.Len() > 0 {
		t.Errorf("too early, while consumer grow may still run, the log has: %s", said.String())
	}
	for range 2 {
		since["clicks"] = since["clicks"].Add(-time.Minute)
		if err := c.Look(t.Context(), src, since); err != nil {
			t.Fatal(err)
		}
	}
	if got := said.String(); strings.Count(got, `run="consumer grow --topic clicks --partitions 3"`) != 2 {
		t.Errorf("a minute later and another one, the log has %q; want two warnings", got)
	}
	f.consume(t)
	f.send(t, click(2))
	if err := f.grow(t.Context(), 3, time.Minute); err != nil {
		t.Fatal(err)
	}
	f.counted(t)
}

// An operator asks for the number of partitions that the topic has. consumer grow reports that it makes nothing.
func TestGrowToTheSameNumber(t *testing.T) {
	f := newField(t, 2)
	f.consume(t)
	f.said = nil
	if err := f.grow(t.Context(), 2, time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(f.said, "\n"); !strings.Contains(got, "clicks has 2 partitions already: no next generation is made") {
		t.Errorf("it said %q", got)
	}
}

// A generation was deleted before all of it was counted. Consumers refuse until an operator accepts the gap.
func TestAcceptADeletedGeneration(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 2)
	stop := f.consume(t)
	for n := range 20 {
		f.send(t, click(n))
	}
	f.counted(t)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	counted := f.sent
	for n := range 5 {
		f.send(t, click(20+n))
	}
	if err := f.grow(t.Context(), 3, time.Millisecond); err == nil {
		t.Fatal("somebody counts")
	}
	f.send(t, click(30)) // to the next generation
	f.remove(t, "clicks")
	accept := func(atMost int64) (string, error) {
		var said strings.Builder
		err := maintenance.RunAcceptGap(t.Context(), f.cfg, f.store, atMost, slog.New(slog.DiscardHandler), func(format string, args ...any) {
			fmt.Fprintf(&said, format+"\n", args...)
		})
		return said.String(), err
	}
	if err := <-f.run(t.Context(), t); !eventlog.IsRefusal(err) || !strings.Contains(err.Error(), "consumer accept-gap") {
		t.Fatalf("the consumer ended with %v", err)
	}
	if said, err := accept(0); err != nil || !strings.Contains(said, "5 events of topic clicks are not counted; the topic was deleted") {
		t.Errorf("without --at-most it said %q, %v", said, err)
	}
	if _, err := accept(4); err == nil || !strings.Contains(err.Error(), "5 events are missing, more than --at-most 4") {
		t.Errorf("told to accept 4, it said %v", err)
	}
	if said, err := accept(5); err != nil || !strings.Contains(said, "5 events are accepted as they are") {
		t.Errorf("told to accept 5, it said %q, %v", said, err)
	}
	f.sent = append(counted[:20:20], click(30))
	f.consume(t)
	f.counted(t)
}

// All refusals of a recreated topic name the same remedy. The remedy works, also if the new topic has fewer partitions.
func TestRebuildAfterTheTopicWasRecreated(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	p := models.Partition{Topic: "clicks"}
	for _, err := range []error{eventlog.RecreatedTopic(p, 7), eventlog.AnotherLog(p, 7), eventlog.OtherPartitions("clicks", 3, 2)} {
		if !eventlog.IsRefusal(err) || !strings.Contains(err.Error(), "`consumer rebuild`") || strings.Contains(err.Error(), "keyspace_suffix") {
			t.Error(err)
		}
	}
	for _, partitions := range []int{2, 3} {
		f := newField(t, 3)
		f.send(t, click(1))
		stop := f.consume(t)
		f.counted(t)
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		f.recreate(t, partitions)
		f.sent, f.sizes["clicks"] = nil, partitions
		for n := range 10 {
			f.send(t, click(50+n))
		}
		live, cfg := f.store, f.cfg
		f.store = memstore.New()
		cfg.Kafka.Group += "-v2"
		if _, err := rebuild.RunRebuild(t.Context(), cfg, f.store, live, f.cfg.Kafka.Group, slog.New(slog.DiscardHandler), func(string, ...any) {}); err != nil {
			t.Errorf("with %d partitions: %v", partitions, err)
			continue
		}
		f.counted(t)
	}
}

// The second of three generations was deleted, and that gap is accepted. The third still waits for the first: a visitor in both would be
// counted twice.
func TestAcceptADeletedGenerationAfterAnUncountedOne(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	f := newField(t, 2)
	for i, partitions := range []int{3, 4} {
		for n := range 10 {
			f.send(t, click(100*i+n))
		}
		if err := f.grow(t.Context(), partitions, time.Millisecond); err == nil {
			t.Fatal("somebody counts")
		}
	}
	f.sent = f.sent[:10]
	f.send(t, click(200)) // to the third
	f.remove(t, "clicks-g2")
	ctx, log := t.Context(), slog.New(slog.DiscardHandler)
	said := ""
	for range 2 {
		said = ""
		if err := maintenance.RunAcceptGap(ctx, f.cfg, f.store, 10, log, func(format string, args ...any) { said += fmt.Sprintf(format+"\n", args...) }); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(said, "no events are missing") {
		t.Errorf("accepted twice: %s", said)
	}
	c, err := rollup.New(f.cfg, f.store, prometheus.NewRegistry(), log)
	if err != nil {
		t.Fatal(err)
	}
	src, err := c.Sources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if open, err := eventlog.CountedToSeal(ctx, f.store, src["clicks-g3"].Before); open || err != nil {
		t.Errorf("the third generation does not wait for the first: %v", err)
	}
	f.consume(t)
	f.counted(t)
}
