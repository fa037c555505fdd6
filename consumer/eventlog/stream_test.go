package eventlog

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"footfall/internal/kafka/dial"
	"footfall/models"
)

// A stream holds the record batch that it reads if that is compressed, however many follow. kafka-go makes room for four times the compressed bytes, and
// doubles a room that was a little too small.
func TestAStreamHoldsOneBatch(t *testing.T) {
	const partitions, batches, size = 4, 4, 900_000
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(partitions, "clicks"))
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...), kgo.ProducerBatchCompression(kgo.GzipCompression()),
		kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	noise := rand.NewChaCha8([32]byte{}) // does not compress; a tenth of it is zeros, which do, or the client would send it as it is
	for i := range partitions * batches {
		value := make([]byte, size)
		_, _ = noise.Read(value[:size*9/10])
		if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: "clicks", Partition: int32(i % partitions), Value: value}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // twice: what is in pools goes with the second
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := heap()
	for n := range partitions {
		stream := NewStream(dial.Plain(cluster.ListenAddrs()...), models.Partition{Topic: "clicks", Number: n}, 0)
		defer stream.Close()
		for range batches - 1 {
			if _, err := stream.Read(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	held := (heap() - before) / partitions
	t.Log(held, "bytes for each partition, some of them the broker's")
	if held > 16*size { // kafka-go takes up to 8 times a batch, and at most twice that; a queue of all would be 29
		t.Errorf("a stream holds %d bytes of batches of %d", held, size)
	}
}
