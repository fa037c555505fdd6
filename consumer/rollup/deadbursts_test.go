package rollup

import (
	"math/rand/v2"
	"testing"
	"time"

	"footfall/consumer/eventlog"
)

// Offsets without an event advance the window, but evict no id that is still within its reach.
func TestWindowKeepsIDsOverDeadLetters(t *testing.T) {
	h := eventlog.NewHasher()
	f := func(events, dead, want int) {
		t.Helper()
		w, offset := eventlog.NewWindow(eventlog.Reach{Offsets: 100_000, Age: time.Hour}, 0), int64(0)
		for id := range events {
			w.See(eventlog.FingerprintOf(h, id), offset, time.Time{})
			offset++
		}
		for range dead {
			w.Pass(offset)
			offset++
		}
		known := 0
		for id := range events {
			if w.See(eventlog.FingerprintOf(h, id), offset, time.Time{}) {
				known++
			}
			offset++
		}
		if known != want {
			t.Errorf("%d events, then %d dead letters: %d ids are known, want %d", events, dead, known, want)
		}
	}
	f(50, 100, 50)
	f(20_000, 20_000, 20_000)
	f(1, 50_000, 1)
	f(10, 100_000-10, 10)
	f(10, 100_000-9, 0)
}

// message is one offset of a log; id 0: it has no event.
type message struct {
	id uint64
	at time.Time
}

// A window with dead letters between its ids decides as a naive search does. So does a window that starts later, as those of a new owner
// and of a repair. The lengths of bursts are those of the ring's sizes, one less and one more.
func TestWindowWithDeadLettersIsAFunctionOfTheLog(t *testing.T) {
	duplicates := 0
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		within := eventlog.Reach{Offsets: int64(1) << rnd.IntN(11), Age: 300 * time.Second}
		within.Offsets += rnd.Int64N(3) - 1
		log := bursts(rnd)
		naive := naively(log, within)
		for _, start := range []int{0, 1, rnd.IntN(len(log)), rnd.IntN(len(log)), len(log) - 1} {
			from := max(0, start-int(within.Offsets))
			w := eventlog.NewWindow(within, int64(from))
			for i := from; i < len(log); i++ {
				if log[i].id == 0 {
					w.Pass(int64(i))
					continue
				}
				got := w.See(eventlog.Fingerprint{log[i].id % 5, log[i].id}, int64(i), log[i].at) // many share a chain
				if i >= start && got != naive[i] {
					t.Fatalf("seed %d, reach %d, window from %d: offset %d is a duplicate: %v, want %v", seed, within.Offsets, from, i, got, naive[i])
				}
				if got {
					duplicates++
				}
			}
		}
	}
	if duplicates < 10_000 {
		t.Errorf("%d duplicates: this tests little", duplicates)
	}
}

// bursts is a log of some thousand offsets.
func bursts(rnd *rand.Rand) (log []message) {
	ids := uint64(1) << rnd.IntN(11)
	for len(log) < 3000 {
		dead := rnd.IntN(2) == 0
		for range max(1, 1<<rnd.IntN(11)+rnd.IntN(3)-1) {
			m := message{at: time.Unix(int64(len(log)/4+rnd.IntN(3)), 0)}
			if !dead {
				m.id = 1 + rnd.Uint64N(ids)
			}
			log = append(log, m)
		}
	}
	return log
}

// naively tells which messages are duplicates, by searching all messages before each.
func naively(log []message, within eventlog.Reach) []bool {
	out := make([]bool, len(log))
	for i, m := range log {
		for j := i - 1; m.id != 0 && j >= max(0, i-int(within.Offsets)); j-- {
			if log[j].id == m.id {
				out[i] = m.at.Sub(log[j].at) <= within.Age
				break
			}
		}
	}
	return out
}
