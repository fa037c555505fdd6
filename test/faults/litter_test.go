package faults

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/test/e2e/broker"
)

// litter is a message that is no event. The test recognises it by its value, not by its offset, which stays unknown if Kafka is killed
// before it answers.
const litter = "somebody else's message"

// litterBurst is the most litter in a row: it takes places in the consumer's window of ids.
const litterBurst = 60

// litterUntil appends bursts of litter to random partitions, between the events, until done is closed.
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
		_ = w.drop(context.Background(), p, 1+rnd.IntN(litterBurst)) // Kafka may be down or the topic sealed; read counts what arrived
	}
}

// drop appends n messages of litter to a partition.
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

// dropEverywhere appends n messages of litter to every partition.
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
