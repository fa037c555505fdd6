package intake

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
)

const firstBackoff, maxBackoff = 100 * time.Millisecond, time.Second

// lane is what waits for one partition, in the order in which it came. One group of it is under way at a time, and one that
// has to be tried again goes before all others: what is sent under the same key stays in its order.
type lane struct {
	base      string // the topic as it is configured
	topic     string // its generation
	partition int32
	leader    *broker  // of the partition, as far as known
	groups    []*group // that wait, the oldest first
	held      bool     // a group is under way, or the lane waits before it tries again
	failures  int      // in a row
	most      int      // bytes of a group
}

// add puts an event at the end, and tells whether the lane has become ready by that.
func (l *lane) add(key, value []byte, whose entry, now time.Time) bool {
	idle := len(l.groups) == 0 && !l.held
	last := (*group)(nil)
	if n := len(l.groups); n > 0 {
		last = l.groups[n-1]
	}
	if last == nil || last.tried || len(last.bytes)+len(key)+len(value)+recordOverhead > l.most {
		last = newGroup(l)
		l.groups = append(l.groups, last)
	}
	last.add(key, value, whose, now)
	return idle
}

// take gives the group that is next, and holds the lane.
func (l *lane) take() *group {
	g := l.groups[0]
	l.groups = slices.Delete(l.groups, 0, 1)
	if !g.tried { // from now on its bytes stay as they are: an old request may still be reading them
		g.seal(time.Now())
	}
	l.held, g.tried = true, true
	return g
}

// expire gives up what nobody waits for any more. The caller holds mu.
func (p *publisher) expire(l *lane) {
	for len(l.groups) > 0 && time.Since(l.groups[0].newest) >= p.timeout {
		g := l.groups[0]
		l.groups = slices.Delete(l.groups, 0, 1)
		p.settle(g, context.DeadlineExceeded)
	}
}

// ended is told what became of a group that was under way. The caller holds mu.
func (p *publisher) ended(g *group, err error) {
	l := g.lane
	if err != nil {
		p.looked = time.Time{} // the leaders may be others
	}
	if errors.Is(err, kafka.MessageSizeTooLarge) && p.suspect(g, err) {
		return
	}
	if err != nil && p.again(g, err) {
		l.groups = slices.Insert(l.groups, 0, g)
		p.rest(l)
		return
	}
	switch {
	case err == nil:
		l.failures = 0
	case errors.Is(err, kafka.MessageSizeTooLarge) && len(g.entries) > 1:
		l.most = len(g.bytes) / 2 // a broker that wants smaller ones than ours
	case p.life.Err() == nil && !refusedForGood(err):
		l.failures = max(l.failures, 1)
	}
	p.settle(g, err)
	p.free(l)
}

// again tells whether a group may still be tried: not what Kafka refuses, and not what nobody waits for any more.
func (p *publisher) again(g *group, err error) bool {
	return !refusedForGood(err) && p.life.Err() == nil && time.Since(g.newest) < p.timeout
}

// refusedForGood tells whether it is no use to try again.
func refusedForGood(err error) bool {
	var refused kafka.Error
	return errors.As(err, &refused) && !refused.Temporary() && !errors.Is(err, kafka.BrokerNotAvailable)
}

// rest lets a lane wait before it tries again, longer each time. The caller holds mu.
func (p *publisher) rest(l *lane) {
	l.held = true
	l.failures = min(l.failures+1, 10)
	time.AfterFunc(min(time.Duration(l.failures*l.failures)*firstBackoff, maxBackoff), func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.free(l)
		p.flush()
	})
}

// free makes a lane ready if something waits in it. The caller holds mu.
func (p *publisher) free(l *lane) {
	l.held = false
	if len(l.groups) > 0 {
		p.ready = append(p.ready, l)
	}
}
