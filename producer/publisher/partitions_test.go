package publisher

import (
	"testing"

	"github.com/segmentio/kafka-go"
)

// TestPartitionsAreJavas compares with what org.apache.kafka's own BuiltInPartitioner.partitionForKey said (kafka-clients
// 4.3.1) for 1, 6, 12 and 100 partitions. The first six keys are those of Kafka's own test of Murmur2.
func TestPartitionsAreJavas(t *testing.T) {
	f := func(key string, of1, of6, of12, of100 int) {
		t.Helper()
		for n, want := range map[int]int{1: of1, 6: of6, 12: of12, 100: of100} {
			numbers := make([]int, n)
			for i := range numbers {
				numbers[i] = i
			}
			// later metadata does not matter
			got := partitioner{"topic": numbers}.Balance(kafka.Message{Topic: "topic", Key: []byte(key)}, 0, 1, 2)
			if got != want {
				t.Errorf("%q in %d partitions: %d, want %d", key, n, got, want)
			}
		}
	}
	f("21", 0, 0, 0, 40)
	f("foobar", 0, 0, 6, 66)
	f("a-little-bit-long-string", 0, 2, 8, 12)
	f("a-little-bit-longer-string", 0, 5, 11, 19)
	f("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", 0, 5, 5, 77)
	f("abc", 0, 3, 3, 7)
	f("site1|962e0c3a-6c08-4160-9196-f0050faffe62", 0, 5, 5, 17)
	f("abc|203.0.113.7", 0, 1, 7, 55)
	f("abc|2001:db8::1", 0, 5, 11, 47)
	f("caffè|żółw|😀", 0, 1, 7, 99)
	f("a|b", 0, 4, 10, 42)
	f("|", 0, 1, 7, 83)
}
