package rollup

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"footfall/consumer/store"
	"footfall/models"
)

// slowly takes its time for writes of many keys.
type slowly struct {
	store.RetireStore
	begun chan struct{}
	wait  *atomic.Int64 // nanoseconds
}

func newSlowly(b *bench, wait time.Duration) slowly {
	s := slowly{b.memory, make(chan struct{}, 1), &atomic.Int64{}}
	s.wait.Store(int64(wait))
	return s
}

func (s slowly) Apply(ctx context.Context, writes []store.KeyWrite) []error {
	if len(writes) > 1 {
		select {
		case s.begun <- struct{}{}:
		default:
		}
		time.Sleep(time.Duration(s.wait.Load()))
	}
	return s.RetireStore.Apply(ctx, writes)
}

// A member whose last flush takes longer than the session timeout is not expelled while it goes on writing: it leaves clean, and the other
// goes on under the same epochs, without a doubt. It must finish the chunk, since that is its first.
func TestALongLastFlushKeepsItsPlaceInTheGroup(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	onBoth(t, 2, func(t *testing.T, b *bench) {
		const links, portions = 1600, 16 // or half of them, if the first chunk has one partition
		b.cfg.Kafka.SessionTimeout, b.keysAtOnce = 6*time.Second, links/portions
		s := newSlowly(b, 900*time.Millisecond)
		b.store = s
		b.sendLinks(t, links)
		stopFirst, endedFirst := b.start(t, "first/1/u/v5")
		<-s.begun
		begun := time.Now()
		stopSecond, endedSecond := b.start(t, "second/1/u/v5")
		b.counts(t, links)
		if took := time.Since(begun); took < b.cfg.Kafka.SessionTimeout {
			t.Errorf("writing took %v: that does not show anything", took)
		}
		b.send(t, 0, 1)
		b.counts(t, links+1)
		stopSecond()
		stopFirst()
		b.wantCleanEnds(t, endedFirst, endedSecond)
	})
}

// wantCleanEnds waits until consumers have ended, and wants that no partition needed another epoch.
func (b *bench) wantCleanEnds(t *testing.T, all ...chan error) {
	t.Helper()
	for _, ended := range all {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	b.memory.Mu.Lock()
	defer b.memory.Mu.Unlock()
	for p, row := range b.memory.OwnerRows {
		if !row.Clean || !store.IsFirstEpoch(row.Epoch) {
			t.Errorf("%v: %+v; want a clean end under the first epoch", p, row)
		}
	}
}

// owns is how many partitions an owner took last.
func (b *bench) owns(name string) (n int) {
	b.memory.Mu.Lock()
	defer b.memory.Mu.Unlock()
	for _, row := range b.memory.OwnerRows {
		if row.Owner == name {
			n++
		}
	}
	return n
}

// A member that writes a large chunk does not keep the group waiting: it leaves the rest of the chunk, clean, and the others count that.
func TestALargeChunkDoesNotHoldUpTheGroup(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds: not with -short")
	}
	onBoth(t, 2, func(t *testing.T, b *bench) {
		const links, portions = 1600, 80
		b.cfg.Kafka.SessionTimeout, b.keysAtOnce = 6*time.Second, links/portions
		s := newSlowly(b, time.Second)
		b.store = s
		b.send(t, 0, 20) // on one link, in both partitions: a first chunk would not be left
		stopFirst, endedFirst := b.start(t, "first/1/u/v5")
		b.counts(t, 20)
		b.sendLinks(t, links)
		<-s.begun
		begun := time.Now()
		stopSecond, endedSecond := b.start(t, "second/1/u/v5")
		for b.owns("second/1/u/v5") == 0 {
			time.Sleep(5 * time.Millisecond)
		}
		if took := time.Since(begun); took > portions/4*time.Second { // the chunk takes 80 s, or 40 if it has one partition
			t.Errorf("the second member has a partition after %v", took)
		}
		s.wait.Store(0)
		b.counts(t, links+20)
		stopSecond()
		stopFirst()
		b.wantCleanEnds(t, endedFirst, endedSecond)
	})
}

// sendLinks sends a click for each of so many links.
func (b *bench) sendLinks(t *testing.T, links int) {
	t.Helper()
	records := make([]*kgo.Record, links)
	for i := range records {
		click := &models.Click{V: 1, ID: fmt.Sprint("of-", i), ShortURL: fmt.Sprint("link", i), IP: "192.0.2.1", TS: models.Earliest}
		value, err := models.AppendEvent(nil, click)
		if err != nil {
			t.Fatal(err)
		}
		records[i] = &kgo.Record{Topic: b.cfg.Kafka.Topics.Clicks, Key: []byte(click.KafkaKey()), Value: value}
	}
	if err := b.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func TestALastFlushEndsWhenNothingIsWritten(t *testing.T) {
	for _, c := range []struct {
		writes []time.Duration // when something is written
		want   time.Duration
	}{
		{nil, 10 * time.Second},
		{[]time.Duration{4 * time.Second}, 14 * time.Second},
		{[]time.Duration{9 * time.Second, 18 * time.Second, 27 * time.Second, 36 * time.Second}, 30 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			o := &ownership{}
			for _, at := range c.writes {
				time.AfterFunc(at, func() { o.moved() })
			}
			begun := time.Now()
			if o.awaitStall(t.Context(), 10*time.Second, 30*time.Second); time.Since(begun) != c.want {
				t.Errorf("written after %v: ended after %v, want %v", c.writes, time.Since(begun), c.want)
			}
		})
	}
}
