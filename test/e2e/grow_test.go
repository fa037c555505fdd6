package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// Both topics grow from 6 partitions to 12 and then to 13 while events come in, some of them twice, and a consumer is killed meanwhile.
// Every request is answered 202, and every cell equals the oracle's.
func TestGrow(t *testing.T) {
	d := newReal(t, 2)
	victim := d.addConsumer(t)
	d.stable(t, 3)
	const n = 100_000
	events, order := load.Make(71, n), load.Order(71, n)
	grown := make(chan struct{})
	client := &load.Client{URL: d.producerURL(), Connections: 16, Stop: grown, Pace: func(int) {
		select {
		case <-grown:
		case <-time.After(40 * time.Millisecond):
		}
	}}
	sent := sendBehind(t, client, events, order)
	d.progress(t)
	bases := d.Topics
	for i, partitions := range []int{12, 13} {
		begun, growing := time.Now(), make(chan error, 2)
		for _, base := range bases {
			go func() { growing <- d.grow(t, base, partitions) }()
		}
		if i == 0 {
			d.sealed(t, bases[0])
			victim.Kill()
			t.Logf("consumer killed %s after growing began", time.Since(begun).Round(time.Millisecond))
		}
		for range bases {
			if err := <-growing; err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%d partitions after %s", partitions, time.Since(begun).Round(time.Millisecond))
		for _, base := range bases {
			d.Topics = append(d.Topics, fmt.Sprintf("%s-g%d", base, i+2))
		}
		d.counting(t, d.Topics[len(d.Topics)-2:])
	}
	close(grown)
	result := sent()
	if result.Busy > 0 {
		t.Errorf("%d requests were answered 503, or not at all", result.Busy)
	}
	t.Logf("%d requests were answered 202; the remaining events were not sent", result.Requests)
	want := result.Oracle(events)
	d.settle(t, want)
	// Other consumers check the writes that the killed one had under way, and repair them if need be.
	harness.Within(t, 2*time.Minute, "equal cells", func() error {
		if differences := oracle.Diff(want.Cells(), d.dump(t).Cells); len(differences) > 0 {
			return fmt.Errorf("%d cells differ, such as %s", len(differences), differences[0])
		}
		return nil
	})
	equal(t, want.Cells(), d.dump(t))
	dead, err := d.DeadLetters(t.Context())
	if err != nil || len(dead) > 0 {
		t.Errorf("%d dead letters, %v", len(dead), err)
	}
	d.afterGrowth(t)
}

// afterGrowth runs audit and rebuild, which must go over all generations.
func (d *real) afterGrowth(t *testing.T) {
	t.Helper()
	if printed, err := d.command(t, "audit"); err != nil {
		t.Errorf("audit: %v\n%s", err, printed)
	}
	suffix := d.suffix + "_v2"
	t.Cleanup(func() { d.drop(t, suffix) })
	printed, err := d.command(t, "rebuild", "--keyspace-suffix", suffix)
	if err != nil || !strings.Contains(printed, " 0 differ; 0 keys were too busy to compare, 0 hold") || nothingCompared.MatchString(printed) {
		t.Errorf("rebuild: %v\n%s", err, printed)
	}
	t.Log(last(printed))
}

// grow runs `consumer grow`.
func (d *real) grow(t *testing.T, topic string, partitions int) error {
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	printed, err := process.Run(ctx, process.Command{
		Name: "grow" + unique(), Path: binaries.Path(t, "consumer"), Env: d.env, Dir: d.dir,
		Args: []string{"grow", "--topic", topic, "--partitions", fmt.Sprint(partitions)},
	})
	if err == nil && !strings.Contains(printed, "is counted to its end") {
		err = fmt.Errorf("it did not report that the old generation is counted")
	}
	if err != nil {
		return fmt.Errorf("growing %s: %w\n%s", topic, err, printed)
	}
	return nil
}

// sealed waits until a topic is sealed.
func (d *real) sealed(t *testing.T, topic string) {
	t.Helper()
	harness.Within(t, time.Minute, "the seal of "+topic, func() error {
		var value string
		return d.session.Query("SELECT value FROM footfall"+d.suffix+".settings WHERE name = ?", "topic "+topic+": sealed").Scan(&value)
	})
}

// counting waits until events of each of the topics are counted.
func (d *real) counting(t *testing.T, topics []string) {
	t.Helper()
	harness.Within(t, time.Minute, "counting after the growth", func() error {
		at, err := d.Committed(t.Context())
		if err != nil {
			return err
		}
		sums := map[string]int64{}
		for p, offset := range at {
			sums[p.Topic] += offset
		}
		for _, topic := range topics {
			if sums[topic] == 0 {
				return fmt.Errorf("nothing of %s is counted", topic)
			}
		}
		return nil
	})
}
