package faults

import (
	"fmt"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/test/e2e/broker"
)

// Kafka is killed while events come in. An event answered with 202 must be in the log; others may be there once or twice.
func kafkaKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	_, _, load := w.startTwo(t, 9, rate)
	const rounds = 2
	var end time.Time
	for range rounds {
		if err := s.brokers[0].Kill(); err != nil {
			t.Fatal(err)
		}
		if err := s.brokers[0].Start(patiently(t)); err != nil {
			t.Fatal(err)
		}
		end = time.Now()
		w.progress(t, "restarting Kafka")
	}
	load.end(t)
	r.hits, r.note = fmt.Sprintf("%d kills", rounds), fmt.Sprintf("%d requests refused meanwhile", load.result.Busy)
	if load.result.Busy == 0 {
		t.Error("the producer refused no request: nothing was tested")
	}
	w.equal(t, r, end)
}

// The producer is killed while requests are under way. Their senders do not know the outcome and send them again.
func producerKilled(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	w.addConsumer(t)
	load := w.sendAt(t, 10, plenty, 2*rate) // fast, so that requests are always under way
	w.progress(t, "starting")
	const rounds = 5
	var end time.Time
	for range rounds {
		w.producer.Kill()
		w.startProducer(t)
		end = time.Now()
		w.progress(t, "restarting the producer")
	}
	load.end(t)
	r.hits, r.note = fmt.Sprintf("%d kills", rounds), fmt.Sprintf("%d requests cut off", load.result.Broken)
	if load.result.Broken == 0 {
		t.Error("no request was under way: nothing was tested")
	}
	w.equal(t, r, end)
}

// Clients send every event twice, with dead letters between the two rounds, and a Kafka writer appends a stretch of the log once more,
// as both do after a lost answer. In between the consumer is killed: its successor has to read the ids from the log.
func duplicates(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim := w.addConsumer(t)
	const n = 6000
	w.sendAt(t, 11, n, 4*rate).wait(t)
	w.dropEverywhere(t, 500) // messages without an id take places in the consumer's window of ids
	w.sendAt(t, 11, n, 4*rate).wait(t)
	victim.Kill()
	end := time.Now()
	w.addConsumer(t)
	w.appendAgain(t, 1000)
	w.equal(t, r, end)
	r.hits = "all"
	if distinct := int64(len(w.last.ids)); distinct != n || r.events-r.duplicates != n || r.duplicates < n+2*partitions*500 {
		t.Errorf("%d messages with %d ids, %d of them duplicates, want %d counted once", r.events, distinct, r.duplicates, n)
	}
}

// appendAgain appends copies of the first messages of each partition, up to each of them, to that partition.
func (w *world) appendAgain(t *testing.T, each int64) {
	t.Helper()
	ends, err := w.Ends(t.Context(), w.Topics...)
	if err != nil {
		t.Fatal(err)
	}
	for p, end := range ends {
		var records []kafka.Record
		err := w.Read(t.Context(), p, min(end, each), func(m kafka.Message) error {
			records = append(records, kafka.Record{Key: kafka.NewBytes(m.Key), Value: kafka.NewBytes(m.Value)})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		answer, err := w.Client.Produce(patiently(t), &kafka.ProduceRequest{
			Topic: p.Topic, Partition: p.Number, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(records...),
		})
		if err != nil || answer.Error != nil {
			t.Fatal(err, answer)
		}
	}
}

// Another writer puts messages that are no events into the topics. They become dead letters with a reason, and counting goes on.
func poison(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	w.addConsumer(t)
	load := w.send(t, 12)
	w.progress(t, "starting")
	letters := broker.Letters(partitions)
	origins, err := w.Litter(t.Context(), w.Topics[1], letters, partitions)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range origins {
		w.poison[o] = true
	}
	end := time.Now()
	w.progress(t, "poison")
	stalled := time.Since(end)
	load.end(t)
	w.equal(t, r, end)
	r.hits = fmt.Sprintf("%d messages", len(letters))
	r.note = fmt.Sprintf("all partitions counted on within %.1f s", stalled.Seconds())
	if stalled > 15*time.Second {
		t.Errorf("counting went on only %s after the poison", stalled)
	}
	dead, err := w.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, wrong := range broker.Check(letters, origins, dead) {
		t.Error(wrong)
	}
	if want := len(letters) + int(w.last.dead); len(dead) != want {
		t.Errorf("%d dead letters, want %d", len(dead), want)
	}
}
