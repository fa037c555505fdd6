package faults

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/test/e2e/broker"
)

// litter is a message that is no event. Whoever reads the log knows it by its value: where it lies nobody knows if Kafka was killed
// before it answered.
const litter = "somebody else's message"

// litterBurst is how many come one after the other, at the most: they take places in a consumer's memory of ids.
const litterBurst = 60

// litterUntil drops bursts of litter onto all partitions, between events and those sent again, until done is closed.
func (w *world) litterUntil(done <-chan struct{}, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 4))
	for {
		select {
		case <-done:
			return
		case <-time.After(300 * time.Millisecond):
		}
		w.littering.Lock()
		topics := w.Topics
		w.littering.Unlock()
		p := broker.Partition{Topic: topics[rnd.IntN(len(topics))], Number: rnd.IntN(partitions)}
		_ = w.drop(context.Background(), p, 1+rnd.IntN(litterBurst)) // Kafka may be away, or the topic sealed; read counts what came
	}
}

// drop appends so much litter to a partition.
func (w *world) drop(ctx context.Context, p broker.Partition, n int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	records := make([]kafka.Record, n)
	for i := range records {
		records[i].Value = kafka.NewBytes([]byte(litter))
	}
	answer, err := w.Client.Produce(ctx, &kafka.ProduceRequest{
		Topic: p.Topic, Partition: p.Number, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(records...),
	})
	if err != nil {
		return err
	}
	return answer.Error
}

// dropEverywhere appends so much litter to every partition.
func (w *world) dropEverywhere(t *testing.T, n int) {
	t.Helper()
	for _, topic := range w.Topics {
		for number := range partitions {
			if err := w.drop(t.Context(), broker.Partition{Topic: topic, Number: number}, n); err != nil {
				t.Fatal(err)
			}
		}
	}
}
