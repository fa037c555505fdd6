package broker_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/embedded/broker"
	"footfall/internal/kafka/dial"
	"footfall/models"
)

const topic = "clicks"

func start(t *testing.T, dir string) *broker.Broker {
	t.Helper()
	b, err := broker.Start(t.Context(), dir, broker.Retention{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// via is how a client of this start reaches its broker.
func via(t *testing.T, b *broker.Broker) dial.Kafka {
	t.Helper()
	k, err := dial.New(b.Client())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Forget)
	return k
}

func create(t *testing.T, via dial.Kafka) {
	t.Helper()
	response, err := via.Client(10*time.Second).CreateTopics(t.Context(), &kafka.CreateTopicsRequest{
		Topics: []kafka.TopicConfig{{Topic: topic, NumPartitions: 3, ReplicationFactor: 1}},
	})
	if err = errors.Join(err, response.Errors[topic]); err != nil {
		t.Fatal(err)
	}
}

// produce writes one record and returns once it is acknowledged.
func produce(ctx context.Context, via dial.Kafka, partition int, value string) error {
	response, err := via.Client(10*time.Second).Produce(ctx, &kafka.ProduceRequest{
		Topic: topic, Partition: partition, RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Value: kafka.NewBytes([]byte(value))}),
	})
	if err != nil {
		return err
	}
	return response.Error
}

// records reads a partition from its beginning.
func records(t *testing.T, via dial.Kafka, partition int, n int64) []string {
	t.Helper()
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: via.Brokers, Dialer: via.Dialer(), Topic: topic, Partition: partition, MaxWait: 100 * time.Millisecond})
	defer func() { _ = reader.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var values []string
	for offset := range n {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			t.Fatalf("reading partition %d at %d: %v", partition, offset, err)
		}
		if m.Offset != offset {
			t.Fatalf("partition %d has offset %d where %d should be", partition, m.Offset, offset)
		}
		values = append(values, string(m.Value))
	}
	return values
}

func commit(t *testing.T, via dial.Kafka, offset int64) {
	t.Helper()
	response, err := via.Client(10*time.Second).OffsetCommit(t.Context(), &kafka.OffsetCommitRequest{
		GroupID: "footfall", GenerationID: -1,
		Topics: map[string][]kafka.OffsetCommit{topic: {{Partition: 1, Offset: offset}}},
	})
	if err != nil || response.Topics[topic][0].Error != nil {
		t.Fatal(err, response)
	}
}

func committed(t *testing.T, via dial.Kafka) int64 {
	t.Helper()
	response, err := via.Client(10*time.Second).OffsetFetch(t.Context(), &kafka.OffsetFetchRequest{GroupID: "footfall", Topics: map[string][]int{topic: {1}}})
	if err != nil || response.Error != nil {
		t.Fatal(err, response)
	}
	return response.Topics[topic][0].CommittedOffset
}

// TestQuietTime: after an hour without events, which takes no time here, the same clients are served at once.
func TestQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := start(t, t.TempDir())
		via := via(t, b)
		create(t, via)
		for n := range int64(3) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := produce(ctx, via, 1, "x"); err != nil || b.Ends(topic)[first] != n+1 {
				t.Errorf("hour %d: %v; the log ends at %v", n, err, b.Ends(topic))
			}
			cancel()
			if commit(t, via, n+1); committed(t, via) != n+1 {
				t.Errorf("hour %d: the group's offset is lost", n)
			}
			time.Sleep(time.Hour)
		}
	})
}

// TestRestart: topics, records, offsets and the log's id survive a restart.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "broker")
	b := start(t, dir)
	id := b.ID()
	create(t, via(t, b))
	var want []string
	for round := range 3 {
		for i := range 5 {
			want = append(want, fmt.Sprintf("%d-%d", round, i))
			if err := produce(t.Context(), via(t, b), 1, want[len(want)-1]); err != nil {
				t.Fatal(err)
			}
		}
		commit(t, via(t, b), int64(len(want)))
		b.Close()

		b = start(t, dir)
		if b.ID() != id {
			t.Errorf("the log was %s and is now %s", id, b.ID())
		}
		ends := b.Ends(topic, "nosuchtopic")
		if n := ends[models.Partition{Topic: topic, Number: 1}]; len(ends) != 3 || n != int64(len(want)) {
			t.Fatalf("the log ends at %v, want %d", ends, len(want))
		}
		if got := records(t, via(t, b), 1, int64(len(want))); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("the log has %v, want %v", got, want)
		}
		if got := committed(t, via(t, b)); got != int64(len(want)) {
			t.Errorf("the group is at %d, want %d", got, len(want))
		}
	}
	if other := start(t, t.TempDir()); other.ID() == id || other.ID() == "" {
		t.Errorf("another log has the id %q, too", other.ID())
	}
}

// TestTorn: entries that kill -9 left half written are cut off, and nothing written after them is lost.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	b := start(t, dir)
	create(t, via(t, b))
	if err := produce(t.Context(), via(t, b), 1, "one"); err != nil {
		t.Fatal(err)
	}
	commit(t, via(t, b), 1)
	b.Close()

	groups, segment := filepath.Join(dir, "groups.log"), filepath.Join(dir, "partitions", topic+"-1", "0.dat")
	appendHalf(t, groups)
	appendHalf(t, segment)
	b = start(t, dir)
	if got := committed(t, via(t, b)); got != 1 {
		t.Errorf("after a torn entry the group is at %d, want 1", got)
	}
	if err := produce(t.Context(), via(t, b), 1, "two"); err != nil {
		t.Fatal(err)
	}
	commit(t, via(t, b), 2)

	// As if killed: the files as they are now, without what Close would write.
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	b = start(t, copied)
	if got := committed(t, via(t, b)); got != 2 {
		t.Errorf("committed after a torn entry: the group is at %d, want 2", got)
	}
	if got := strings.Join(records(t, via(t, b), 1, 2), " "); got != "one two" {
		t.Errorf("the log has %q", got)
	}
}

// appendHalf appends the first half of the file to it: an entry that is cut short.
func appendHalf(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, data[:len(data)/2]...), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestStartErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Start(t.Context(), filepath.Join(dir, "file", "broker"), broker.Retention{}, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "data.dir") {
		t.Errorf("below a file: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "meta.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := broker.Start(t.Context(), dir, broker.Retention{}, slog.New(slog.DiscardHandler)); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("on something else: %v", err)
	}
}
