package faults

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/test/e2e/process"
	"footfall/test/faults/wire"
)

// consumer is one replica and its connection to Cassandra.
type consumer struct {
	*process.Process
	url   string
	proxy *wire.Proxy // nil if it connects to Cassandra directly
}

// kill is Kill in the form that midFlush takes.
func (c *consumer) kill() error {
	c.Kill()
	return nil
}

// addConsumer starts one more replica.
func (w *world) addConsumer(t *testing.T) *consumer {
	t.Helper()
	return w.addBehindProxy(t, "consumer")
}

// addBehindProxy starts a replica, of the product or of a control, with a proxy between it and Cassandra.
func (w *world) addBehindProxy(t *testing.T, command string, env ...string) *consumer {
	t.Helper()
	proxy, err := wire.New(w.nodes[0].Address+":0", w.nodes[0].Addr(), requestTimeout)
	if err != nil {
		t.Fatal(err)
	}
	c := w.startConsumer(t, command, append(env, "FOOTFALL_CASSANDRA_PORT="+strconv.Itoa(proxy.Port()))...)
	c.proxy = proxy
	return c
}

// startConsumer starts a replica that connects to Cassandra as env says.
func (w *world) startConsumer(t *testing.T, command string, env ...string) *consumer {
	t.Helper()
	w.started++
	c := &consumer{}
	var err error
	c.Process, err = process.Start(process.Command{
		Name: fmt.Sprintf("%s%d", command, w.started), Path: binaries.Path(t, command), Dir: w.dir,
		Env: append(append(w.env[:len(w.env):len(w.env)], "FOOTFALL_HTTP_ADDR=127.0.0.1:0"), env...),
	})
	if err != nil {
		t.Fatal(err)
	}
	w.consumers = append(w.consumers, c)
	address, err := c.Expect(patiently(t), consumerStarted)
	if err != nil {
		t.Fatal(err)
	}
	c.url = "http://" + address
	return c
}

// end kills the process, if it still runs, and closes the proxy.
func (c *consumer) end() {
	c.Kill()
	if c.proxy != nil {
		_ = c.proxy.Close() // the test has ended: an error changes nothing
	}
}

// collect keeps the metrics of a consumer that is about to end.
func (w *world) collect(c *consumer) {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	values, err := process.Metrics(ctx, c.url)
	if err != nil {
		return // it hangs or has ended: its metrics are lost, as they would be for an operator
	}
	for name, v := range values {
		w.gone[name] += v
	}
}

// metric sums a counter over all consumers, ended ones included, and over all labels.
func (w *world) metric(t *testing.T, name string) float64 {
	t.Helper()
	sum := 0.0
	add := func(values map[string]float64) {
		for full, v := range values {
			if full == name || strings.HasPrefix(full, name+"{") {
				sum += v
			}
		}
	}
	add(w.gone)
	for _, c := range w.consumers {
		if !c.Running() {
			continue
		}
		values, err := process.Metrics(patiently(t), c.url)
		if err != nil {
			t.Fatal(err)
		}
		add(values)
	}
	return sum
}

// late counts, over all consumers, the writes that Cassandra applied after the consumer had given them up.
func (w *world) late() (sum wire.Late) {
	for _, c := range w.consumers {
		late := c.proxy.Late()
		sum.Writes += late.Writes
		if late.Last.After(sum.Last) {
			sum.Last = late.Last
		}
	}
	return sum
}

// stopAll stops the consumers as an operator does. Each must end with exit code 0, and those that the test did not kill must
// have run until now.
func (w *world) stopAll(t *testing.T) {
	t.Helper()
	var all sync.WaitGroup
	for _, c := range w.consumers {
		if c.Running() {
			w.collect(c)
		}
		all.Go(func() {
			if err := c.Stop(time.Minute); err != nil {
				t.Errorf("%v\n%s", err, c.Tail(30))
			}
		})
	}
	all.Wait()
}

// said counts how often a text stands in the logs of all consumers.
func (w *world) said(t *testing.T, text string) int {
	t.Helper()
	n := 0
	for _, c := range w.consumers {
		printed, err := c.Printed()
		if err != nil {
			t.Fatal(err)
		}
		n += strings.Count(printed, text)
	}
	return n
}
