package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// grownTo is how many partitions both topics have afterwards. It is no multiple of the old number, so most visitors change partition.
const grownTo = 7

// Both topics grow under traffic. A consumer is killed in the midst of a flush, after the next generations were created and before
// the old ones are counted. Then clients send all events again.
func grown(t *testing.T, s servers, r *row) {
	w := newWorld(t, s)
	victim, other, load := w.startTwo(t, 18, rate)
	old := w.Topics
	begun := time.Now()
	if err := other.Pause(); err != nil { // its partitions keep growing from being over before the kill
		t.Fatal(err)
	}
	growing := make(chan error, 1)
	go func() { growing <- w.growAll(t, old) }()
	w.created(t, old[0]+"-g2")
	w.collect(victim)
	unanswered := midFlush(t, victim, victim.kill)
	end := time.Now()
	if len(growing) > 0 || unanswered == 0 {
		t.Errorf("the kill came too late, or with %d writes under way: nothing was tested", unanswered)
	}
	if err := other.Resume(); err != nil {
		t.Fatal(err)
	}
	w.addConsumer(t)
	if err := <-growing; err != nil {
		t.Fatal(err)
	}
	took := time.Since(begun)
	next := []string{old[0] + "-g2", old[1] + "-g2"}
	w.follow(next)
	w.progress(t, "growing")
	load.end(t)
	w.again(t, load, 18).wait(t)
	w.follow(append(old[:len(old):len(old)], next...))
	w.equal(t, r, end)
	r.hits = "2 topics, 1 kill"
	r.note = fmt.Sprintf("from %d to %d partitions within %.1f s; %d of the duplicates were sent before the seal", partitions, grownTo,
		took.Seconds(), w.last.across)
	if w.last.across < 100 {
		t.Errorf("%d ids were sent again across the seal: nothing was tested", w.last.across)
	}
}

// growAll runs `consumer grow` for all topics at the same time.
func (w *world) growAll(t *testing.T, topics []string) error {
	var all errgroup.Group
	for _, topic := range topics {
		all.Go(func() error {
			printed, err := process.Run(patiently(t), process.Command{
				Name: "grow-" + topic, Path: binaries.Path(t, "consumer"), Env: w.env, Dir: w.dir,
				Args: []string{"grow", "--topic", topic, "--partitions", fmt.Sprint(grownTo)},
			})
			if err == nil && !strings.Contains(printed, "is counted to its end") {
				err = fmt.Errorf("grow did not report that the old generation is counted: %s", printed)
			}
			return err
		})
	}
	return all.Wait()
}

// created waits until a topic exists.
func (w *world) created(t *testing.T, topic string) {
	t.Helper()
	harness.Within(t, time.Minute, "creating "+topic, func() error {
		_, err := w.Partitions(t.Context(), topic)
		return err
	})
}

// follow sets the topics that the test reads and that litter goes to.
func (w *world) follow(topics []string) {
	w.littering.Lock()
	defer w.littering.Unlock()
	w.Topics = topics
}

// again sends the accepted events of a load once more.
func (w *world) again(t *testing.T, tr *traffic, seed uint64) *traffic {
	t.Helper()
	var order []int
	for i, accepted := range tr.result.Accepted {
		if accepted {
			order = append(order, i)
		}
	}
	return w.sendThese(t, seed, tr.events, order, 4*rate)
}
