package broker_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/embedded/broker"
	"footfall/models"
)

var first = models.Partition{Topic: topic, Number: 1}

// bounded starts a broker whose partition 1 is counted up to an offset, with a retention that keeps only the last ids of that.
func bounded(t *testing.T, dir string, counted, window int64) *broker.Broker {
	t.Helper()
	b, err := broker.Start(t.Context(), dir, broker.Retention{
		Bytes: 1, Window: window, IDAge: 24 * time.Hour,
		Counted: func(context.Context, string) (map[models.Partition]int64, error) {
			return map[models.Partition]int64{first: counted}, nil
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// load writes n records of some 100 kB to partition 1, and as many to the others.
func load(t *testing.T, b *broker.Broker, from, n int) {
	t.Helper()
	via := via(t, b)
	for i := from; i < from+n; i++ {
		for p := range 3 {
			if err := produce(t.Context(), via, p, record(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func record(i int) string { return fmt.Sprintf("%d-%s", i, strings.Repeat("x", 100_000)) }

// held is the first offset of partition p and the one after the last. All records in between must be there.
func held(t *testing.T, b *broker.Broker, p int) (from, to int64) {
	t.Helper()
	via := via(t, b)
	response, err := via.Client(10*time.Second).ListOffsets(t.Context(), &kafka.ListOffsetsRequest{
		Topics: map[string][]kafka.OffsetRequest{topic: {kafka.FirstOffsetOf(p), kafka.LastOffsetOf(p)}}})
	if err != nil {
		t.Fatal(err)
	}
	from, to = response.Topics[topic][0].FirstOffset, response.Topics[topic][0].LastOffset
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: via.Brokers, Dialer: via.Dialer(), Topic: topic, Partition: p, MaxWait: 100 * time.Millisecond})
	defer func() { _ = reader.Close() }()
	if err := reader.SetOffset(from); err != nil {
		t.Fatal(err)
	}
	for offset := from; offset < to; offset++ {
		m, err := reader.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.Offset != offset || string(m.Value) != record(int(offset)) {
			t.Fatalf("partition %d has offset %d with %.20s where %d should be", p, m.Offset, m.Value, offset)
		}
	}
	return from, to
}

// killed is a copy of dir as kill -9 would leave it.
func killed(t *testing.T, dir string) string {
	t.Helper()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return copied
}

// TestTrim: a running broker deletes records that are counted and outside the window, and goes on at the same offset after a kill and
// after a restart.
func TestTrim(t *testing.T) {
	dir := t.TempDir()
	b := bounded(t, dir, 90, 30)
	create(t, via(t, b))
	load(t, b, 0, 100)
	if err := b.Trim(t.Context()); err != nil {
		t.Fatal(err)
	}
	from, to := held(t, b, 1)
	if from < 40 || from > 60 || to != 100 {
		t.Errorf("the log has [%d, %d), want all from 60 or a little before to 100", from, to)
	}
	if from, to := held(t, b, 2); from != 0 || to != 100 {
		t.Errorf("the partition that is not counted has [%d, %d)", from, to)
	}
	for name, dir := range map[string]string{"killed": killed(t, dir), "stopped": func() string { b.Close(); return dir }()} {
		b := bounded(t, dir, 90, 30)
		if again, to := held(t, b, 1); again != from || to != 100 {
			t.Errorf("%s, the log has [%d, %d), before [%d, 100)", name, again, to, from)
		}
		load(t, b, 100, 1)
		if _, to := held(t, b, 1); to != 101 {
			t.Errorf("%s, the next record gets offset %d", name, to-1)
		}
	}
}

// TestAllCounted: even if no record is needed, the partition does not begin again at 0: the last segment with a complete batch stays.
func TestAllCounted(t *testing.T) {
	dir := t.TempDir()
	b := bounded(t, dir, 0, 0)
	create(t, via(t, b))
	load(t, b, 0, 50)
	for ending, content := range map[string]string{"empty": "", "torn": "half a batch, and then the process was killed"} {
		dir := killed(t, dir)
		if err := os.WriteFile(filepath.Join(dir, "partitions", topic+"-1", "50.dat"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		b := bounded(t, dir, 50, 0)
		if err := b.Trim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if from, to := held(t, b, 1); from < 30 || to != 50 {
			t.Errorf("%s: the log has [%d, %d), want the last segment up to 50", ending, from, to)
		}
		load(t, b, 50, 20)
		b = bounded(t, killed(t, dir), 70, 0)
		if from, to := held(t, b, 1); from < 50 || to != 70 {
			t.Errorf("%s, and on: the log has [%d, %d), want the last segment up to 70", ending, from, to)
		}
	}
}
