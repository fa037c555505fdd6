package rollup

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"footfall/consumer/eventlog"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/topics"
)

// kafka-go returns the marker at the end of a transaction as a message. It is neither an event nor a dead letter.
func TestMarkersOfTransactions(t *testing.T) { onBoth(t, 1, markersOfTransactions) }

func markersOfTransactions(t *testing.T, b *bench) {
	plain := b.client
	writer, err := kgo.NewClient(kgo.SeedBrokers(b.cfg.Kafka.Brokers...), kgo.TransactionalID("writer-"+uuid.NewString()))
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for round, end := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort, kgo.TryCommit} {
		if err := writer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		b.client = writer
		b.send(t, 5*round, 5*round+5)
		if err := writer.EndTransaction(t.Context(), end); err != nil {
			t.Fatal(err)
		}
	}
	b.client = plain
	b.send(t, 15, 16) // when this is counted, all messages before it are read
	b.finishes(t, 16) // events of an aborted transaction count, too
	dead, err := topics.Ends(t.Context(), dial.Plain(b.cfg.Kafka.Brokers...), b.cfg.Kafka.Topics.Dead, 1)
	if err != nil || dead[0] != 0 {
		t.Errorf("%d dead letters, %v\n%s", dead[0], err, b.said.String())
	}
}

func TestNoEvent(t *testing.T) {
	f := func(want bool, key, value string) {
		t.Helper()
		if got := eventlog.NoEvent(kafka.Message{Key: []byte(key), Value: []byte(value)}); got != want {
			t.Errorf("%q %q: %v", key, value, got)
		}
	}
	f(true, "\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x02") // aborted, as Kafka 4.3 writes it
	f(true, "\x00\x00\x00\x01", "\x00\x00\x00\x00\x00\x07") // committed
	f(true, "", topics.Probe)
	f(false, "\x00\x00\x00\x02", "\x00\x00\x00\x00\x00\x02")
	f(false, "\x00\x00\x00\x01", strings.Repeat("\x00", 5))
	f(false, "", "")
	f(false, "0001", "000002")
}
