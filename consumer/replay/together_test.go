package replay

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/models"
)

// Of two at a time the last one sends. Neither sends what the other has sent.
func TestTwoAtATime(t *testing.T) {
	const many = 60
	w := newWorld(t, many)
	begun, once := make(chan struct{}), false
	first := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			base, err := write(ctx, p, records)
			if p.Topic != "dead-letters-replayed" && !once {
				once = true
				close(begun)
			}
			time.Sleep(time.Millisecond)
			return base, err
		}
	})
	ended := make(chan error)
	go func() {
		_, err := first.run(t.Context())
		ended <- err
	}()
	<-begun
	second := w.replayer(options(t), nil)
	second.times.settle = time.Second // what the first has under way
	if _, err := second.run(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, errTaken) {
		t.Errorf("the first ended with %v", err)
	}
	w.onceEach(t)
}

// A process has announced a batch, and its events are under way when another one begins. That one waits for them.
func TestWhatIsUnderWay(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	w := newWorld(t, some)
	begun, claimed, settled := make(chan struct{}), make(chan struct{}), make(chan struct{})
	held := false
	first := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			if p.Topic != "dead-letters-replayed" && !held {
				held = true
				close(begun)
				<-claimed
				select {
				case <-settled: // too soon
				case <-time.After(200 * time.Millisecond):
				}
			}
			return write(ctx, p, records)
		}
	})
	ended := make(chan error)
	go func() {
		_, err := first.run(t.Context())
		ended <- err
	}()
	<-begun
	n := 0
	second := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			base, err := write(ctx, p, records)
			switch n++; n {
			case 1:
				close(claimed)
			case 2:
				close(settled)
			}
			return base, err
		}
	})
	second.times.settle = 3 * time.Second
	if got, err := second.run(t.Context()); err != nil || got.Sent == some {
		t.Errorf("%+v, %v", got, err)
	}
	if err := <-ended; !errors.Is(err, errTaken) {
		t.Errorf("the first ended with %v", err)
	}
	w.onceEach(t)
}

// A process announces a batch, sleeps, and wakes up after another one has sent everything. It must not send.
func TestAProcessThatSlept(t *testing.T) {
	w := newWorld(t, some)
	n := 0
	r := w.replayer(options(t), func(write appender) appender {
		return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
			base, err := write(ctx, p, records)
			if n++; n == 2 { // the claim is the first
				w.replay(t, options(t))
			}
			return base, err
		}
	})
	r.times.within = time.Nanosecond
	if _, err := r.run(t.Context()); !errors.Is(err, errTaken) {
		t.Errorf("it ended with %v", err)
	}
	w.onceEach(t)
}

// A run begins while another one recovers from a failed write. One of them goes on: the later one, whether it begins before the other claims the
// ledger again, or just as that does.
func TestTwoOfWhichOneRecovers(t *testing.T) {
	for _, between := range []bool{false, true} {
		w := newWorld(t, some)
		ledger := models.Partition{Topic: "dead-letters-replayed"}
		var second *replayer
		writes, claims := 0, 0
		first := w.replayer(options(t), func(write appender) appender {
			return func(ctx context.Context, p models.Partition, records []kafka.Record) (int64, error) {
				begin := func() {
					second = w.replayer(options(t), nil)
					if err := second.openLedger(ctx); err != nil {
						t.Error(err)
					}
				}
				key, _ := kafka.ReadAll(records[0].Key)
				records[0].Key = kafka.NewBytes(key)
				if p == ledger && strings.HasPrefix(string(key), runKey) {
					if claims++; claims == 2 && between {
						begin()
					}
				}
				if writes++; writes == 3 { // a claim, an intent, events
					if !between {
						begin()
					}
					return 0, errors.New("the network")
				}
				return write(ctx, p, records)
			}
		})
		_, one := first.run(t.Context())
		if second == nil {
			t.Fatal("nobody recovered")
		}
		two := second.ledger.write(t.Context(), record(runKey+second.ledger.run, claim{}))
		if between && (one != nil || !errors.Is(two, errTaken)) || !between && (two != nil || !errors.Is(one, errTaken)) {
			t.Errorf("between %v: they ended with %v and %v", between, one, two)
		}
		w.replay(t, options(t))
		w.onceEach(t)
	}
}
