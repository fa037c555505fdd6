package rollup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"footfall/consumer/store"
)

// path is one schedule: which of how many branches is taken at each choice. The zero value is the schedule without faults.
type path struct {
	taken, of []int
	at        int // the choice that comes next in this play
}

// choose takes one of n branches: those of the path first, then the first of each.
func (p *path) choose(n int) int {
	if n < 2 {
		return 0
	}
	if p.at == len(p.taken) {
		p.taken, p.of = append(p.taken, 0), append(p.of, n)
	}
	if p.of[p.at] == 0 { // given by -sim.schedule
		p.of[p.at] = n
	}
	if p.of[p.at] != n {
		panic(fmt.Sprintf("choice %d of %v had %d branches and has %d: the same schedule plays differently", p.at, p.taken, p.of[p.at], n))
	}
	p.at++
	return p.taken[p.at-1]
}

// next goes on to the next schedule, depth first: the last choice that has an untried branch takes it. False: there is none.
func (p *path) next() bool {
	p.at = 0
	for i := len(p.taken) - 1; i >= 0; i-- {
		if p.taken[i]++; p.taken[i] < p.of[i] {
			p.taken, p.of = p.taken[:i+1], p.of[:i+1]
			return true
		}
	}
	return false
}

func (p *path) String() string {
	return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(p.taken)), ","), "[]")
}

// schedule is the fate of a small world: it follows a path of choices. There is a choice only while its allowance is not used up,
// so that the number of paths is finite.
type schedule struct {
	*world
	path  *path
	small smallWorld
	left  allowance
	last  waiting // who had the last turn
	asked bool    // it was already chosen whether the paused consumer wakes up before the clock moves
}

// allowance is how often something may happen in one play.
type allowance struct {
	writes   int // of counters that do not just succeed
	calls    int // other calls to the store that fail
	blows    int
	setBacks int // of the group's offset
	forwards int // moves of the group's offset beyond what is counted
	turns    int // that go to another goroutine than usual
	odd      int // transactions that misbehave
}

// spend chooses between 0 (nothing happens) and n things that may happen, unless the allowance is used up.
func (s *schedule) spend(left *int, n int) int {
	if *left == 0 {
		return 0
	}
	i := s.path.choose(n + 1)
	if i > 0 {
		*left--
	}
	return i
}

func (s *schedule) between(ctx context.Context, _ int) {
	if s.small.retires && !s.retiring && s.committed[s.partitions[0]].Offset == s.written(s.partitions[0]) {
		s.retiring = true
		s.startRetire(ctx)
	}
}

// next lets something happen, or gives the turn to the usual goroutine. Up to left.turns times in a schedule another one gets it.
func (s *schedule) next(ready []waiting) int {
	s.asked = false
	if s.wakes() {
		return -1
	}
	if live := s.live(); len(live) > 0 {
		if i := s.spend(&s.left.blows, len(s.small.blows)); i > 0 {
			s.strike(s.small.blows[i-1], live[s.path.choose(len(live))])
			return -1
		}
	}
	i := s.usual(ready)
	i = (i + s.spend(&s.left.turns, len(ready)-1)) % len(ready)
	s.last = ready[i]
	return i
}

// usual is the goroutine that had the last turn, or else the first that waits. If the topic grows, several consumers count at once: then
// it is any goroutine of the consumer that had the last turn, so that one extra turn lets another consumer do more than one step.
func (s *schedule) usual(ready []waiting) int {
	i := slices.Index(ready, s.last)
	if i < 0 && s.small.grows() {
		i = slices.IndexFunc(ready, func(r waiting) bool { return r.a == s.last.a })
	}
	return max(0, i)
}

// blow is something that happens to a consumer, or to the store.
type blow int

const (
	crash  blow = iota
	leave       // when asked to: the group is about to rebalance
	freeze      // for so long that another consumer gets the partition
	restart
	audit // begins, and repairs
)

func (s *schedule) strike(b blow, a *actor) {
	switch b {
	case crash:
		a.crash()
		s.regroup()
	case leave:
		a.leaving.Store(true)
		s.tell("%s is asked to leave", a)
		s.regroup()
	case freeze:
		a.zombie, a.asleep = true, time.Now().Add(forever)
		s.out.Zombies++
		s.tell("%s becomes a zombie", a)
		s.regroup()
	case restart:
		s.restart()
	case audit:
		s.startAudit(context.Background())
	}
}

// forever is longer than any play, and wellAfter longer than doubts stay open.
const (
	forever   = 24 * time.Hour
	wellAfter = 11 * time.Minute
)

// sleeper is the consumer that is paused, if there is one.
func (s *schedule) sleeper() *actor {
	for _, a := range s.actors {
		if time.Until(a.asleep) > time.Hour {
			return a
		}
	}
	return nil
}

// wakes chooses whether the paused consumer goes on now. Then it gets the turn.
func (s *schedule) wakes() bool {
	a := s.sleeper()
	if a == nil || s.path.choose(2) == 0 {
		return false
	}
	s.wake(a, 0)
	return true
}

func (s *schedule) wake(a *actor, after time.Duration) {
	a.asleep, s.last = time.Now().Add(after), waiting{a, consuming}
	s.tell("%s wakes up in %v", a, after)
}

// idle moves the clock until a goroutine has something to do. The paused consumer may wake up before. It does when nothing else can
// happen any more: at once, or when all doubts are settled.
func (s *schedule) idle() {
	if !s.asked {
		s.asked = true
		if s.wakes() {
			return
		}
	}
	if a := s.sleeper(); a != nil && (s.decided() || s.controls.noRechecks) {
		s.wake(a, time.Duration(s.path.choose(2))*wellAfter)
		return
	}
	select {
	case <-s.knocks:
	case <-time.After(5 * time.Second):
	}
}

func (s *schedule) callEnds() ending {
	return []ending{done, failed, disconnected, unheard}[s.spend(&s.left.calls, 3)]
}

func (s *schedule) writeEnds() ending {
	if i := s.spend(&s.left.writes, len(s.small.endings)); i > 0 {
		return s.small.endings[i-1]
	}
	return done
}

// landsIn is when a late write lands at the latest.
func (s *schedule) landsIn() time.Duration { return time.Minute }

// beforeReading lets late writes land. Sums commute, so only a read can tell when a write landed: before or after each read of the
// ledger are all the cases there are.
func (s *schedule) beforeReading() {
	if len(s.late) > 0 && s.path.choose(2) == 1 {
		for i := range s.late {
			s.late[i].due = time.Time{}
		}
		s.land()
	}
}

// nothingDue leaves out reads of doubts that find none due: they change nothing, whenever they happen.
func (s *schedule) nothingDue(doubts []store.Doubt) bool {
	return !slices.ContainsFunc(doubts, func(d store.Doubt) bool { return !time.Now().Before(d.Due) })
}

// decided leaves out the last check of doubts, ten minutes later: no write is late for so long here, so it would find what the check
// before it found.
func (s *schedule) decided() bool {
	for _, list := range s.store.OpenDoubts {
		if slices.ContainsFunc(list, func(d store.Doubt) bool { return d.Checks < len(simRechecks)-1 }) {
			return false
		}
	}
	return len(s.late) == 0
}

// regrouped sets the group's offset back to any lower one, lets Kafka delete it, or sets it forward.
func (s *schedule) regrouped() {
	p := s.partitions[0]
	if at := s.committed[p].Offset; at > 0 {
		if i := s.spend(&s.left.setBacks, int(at)+1); i > 0 {
			s.setBack(p, int64(i-2))
		}
	}
	if s.spend(&s.left.forwards, 1) == 1 {
		s.setForward(p, 1)
	}
}

func (s *schedule) habits() habits {
	return habits{
		cache: 4, poll: s.small.poll,
		offsets: func() int64 { return s.span },
		ahead:   func() bool { return s.small.ahead },
	}
}

func (s *schedule) order(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

func (s *schedule) stored() bool           { return s.path.choose(2) == 1 }
func (s *schedule) crashes() bool          { return false }
func (s *schedule) session() time.Duration { return 10 * time.Second }
func (s *schedule) together() bool         { return !s.small.grows() || s.path.choose(2) == 1 }
func (s *schedule) forgotten(int) int      { return 1 }
func (s *schedule) odd(int) bool           { return s.spend(&s.left.odd, 1) == 1 }
