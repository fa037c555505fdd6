package positioncache

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"footfall/models"
)

func TestByNumberHasWhatWasSet(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	partition := func(n int) models.Partition {
		return models.Partition{Topic: []string{"clicks", "visits"}[n%2], Number: n / 2}
	}
	const keys, partitions = 2000, 12
	b, want, all := NewByNumber(keys), make([][]Position, keys), []Position(nil)
	for _, number := range rnd.Perm(keys)[:keys*3/4] { // the others have none
		for _, n := range rnd.Perm(partitions)[:rnd.IntN(partitions)] {
			want[number] = append(want[number], Position{Partition: partition(n), To: rnd.Int64N(math.MaxInt64), Epoch: rnd.Int64N(3)})
		}
		b.Set(number, want[number])
		all = append(all, want[number]...)
	}
	for number, positions := range want {
		for n := range partitions {
			expected := Position{Partition: partition(n)}
			if i := slices.IndexFunc(positions, func(p Position) bool { return p.Partition == expected.Partition }); i >= 0 {
				expected = positions[i]
			}
			if got := b.In(number, expected.Partition); got != expected {
				t.Fatalf("key %d in %v: %+v, want %+v", number, expected.Partition, got, expected)
			}
		}
	}
	if got := slices.Collect(b.All()); !slices.Equal(got, all) {
		t.Error("All yields other positions than were set")
	}
}
