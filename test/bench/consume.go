package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"footfall/configs"
	"footfall/test/bench/machine"
	"footfall/test/e2e/process"
)

// topicsOf are the topics of a task: one is full, the others exist because a consumer wants them.
func topicsOf(t task) configs.Topics {
	empty := t.Topic + "-empty"
	if t.Clicks {
		return configs.Topics{Clicks: t.Topic, Visits: empty, Dead: t.Topic + "-dead"}
	}
	return configs.Topics{Clicks: empty, Visits: t.Topic, Dead: t.Topic + "-dead"}
}

func consumerEnv(t task, group string) []string {
	topics := topicsOf(t)
	env := []string{
		"FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_KAFKA_BROKERS=" + t.Broker, "FOOTFALL_KAFKA_GROUP=" + group,
		"FOOTFALL_KAFKA_TOPICS_CLICKS=" + topics.Clicks, "FOOTFALL_KAFKA_TOPICS_VISITS=" + topics.Visits,
		"FOOTFALL_KAFKA_TOPICS_DEAD=" + topics.Dead, "FOOTFALL_CASSANDRA_HOSTS=" + t.Host,
		"FOOTFALL_CASSANDRA_PORT=" + strconv.Itoa(t.Port), "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=" + t.Suffix,
	}
	if t.LRU > 0 {
		env = append(env, "FOOTFALL_VISITORS_LRU="+strconv.Itoa(t.LRU))
	}
	return env
}

var listening = regexp.MustCompile(`"consumer started","addr":"([^"]+)"`)

// measureFootfall has so many consumers count a full topic. The clock runs from when the group has given the first of them its
// partitions until the last event is counted.
func (b *bench) measureFootfall(ctx context.Context, t task, processes int) (m measured, err error) {
	var running []*replica
	defer func() {
		for _, r := range running {
			if failed := r.Stop(time.Minute); err == nil {
				err = failed
			}
		}
	}()
	for i := range processes {
		r, err := b.startConsumer(ctx, t, "bench"+t.Suffix, i)
		if err != nil {
			return m, err
		}
		running = append(running, r)
	}
	begun, half := time.Time{}, map[string]float64(nil)
	for {
		sum, err := scrape(ctx, running)
		if err != nil {
			return m, err
		}
		applied := sum[`events{outcome="applied"}`]
		if begun.IsZero() && (sum["generations"] > 0 || applied > 0) {
			begun = time.Now()
		}
		if half == nil && applied >= float64(t.Events)/2 {
			half = sum
		}
		if applied >= float64(t.Events) {
			m.Seconds = time.Since(begun).Seconds()
			return m, m.fill(t, sum, half, running)
		}
		select {
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// fill reads off the rest.
func (m *measured) fill(t task, sum, half map[string]float64, running []*replica) error {
	m.Events, m.Requests, m.Statements = t.Events, sum["requests"], sum["statements"]
	late := sum[`events{outcome="applied"}`] - half[`events{outcome="applied"}`]
	if late > 0 {
		m.LateRequests = (sum["requests"] - half["requests"]) / late
		m.LateKeys = (sum["keys"] - half["keys"]) / late
	}
	m.Kinds, m.Values = map[string]float64{}, map[string]float64{
		"keys": sum["keys"], "lookups": sum["lookups"], "ledger": sum["ledger"], "flushes": sum["flushes"],
		"flush seconds": sum["flush seconds"],
	}
	for name, value := range sum {
		if kind, ok := strings.CutPrefix(name, "requests of "); ok {
			m.Kinds[kind] = value
		}
	}
	for _, r := range running {
		cpu, peak, err := machine.Cost(r.PID())
		if err != nil {
			return err
		}
		m.CPU += cpu
		m.Peak += peak
	}
	return nil
}

// replica is one consumer process.
type replica struct {
	*process.Process
	url string
}

func (b *bench) startConsumer(ctx context.Context, t task, group string, i int) (*replica, error) {
	p, err := process.Start(process.Command{
		Name: fmt.Sprintf("consumer%s-%d", t.Suffix, i), Path: filepath.Join(b.bin, "consumer"), Env: consumerEnv(t, group), Dir: b.dir,
	})
	if err != nil {
		return nil, err
	}
	address, err := p.Expect(ctx, listening)
	if err != nil {
		return nil, err
	}
	return &replica{p, "http://" + address}, nil
}

// scrape adds up what the replicas tell in their metrics.
func scrape(ctx context.Context, replicas []*replica) (map[string]float64, error) {
	sum := map[string]float64{}
	for _, r := range replicas {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.url+"/metrics", nil)
		if err != nil {
			return nil, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, fmt.Errorf("asking %s: %w\n%s", r.Name, err, r.Tail(20))
		}
		lines := bufio.NewScanner(response.Body)
		for lines.Scan() {
			add(sum, lines.Text())
		}
		_ = response.Body.Close()
		if err := lines.Err(); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

var sample = regexp.MustCompile(`^footfall_(\w+?)(_total|_seconds_count|_seconds_sum)?(\{.*\})? (\S+)$`)

// add notes one line of metrics under a short name.
func add(sum map[string]float64, line string) {
	found := sample.FindStringSubmatch(line)
	if found == nil {
		return
	}
	name, suffix, labels := found[1], found[2], found[3]
	value, _ := strconv.ParseFloat(found[4], 64)
	switch {
	case name == "events" && strings.Contains(labels, `outcome="applied"`):
		sum[`events{outcome="applied"}`] += value
	case name == "store_requests":
		sum["requests"] += value
		_, kind, _ := strings.Cut(labels, `kind="`)
		kind, _, _ = strings.Cut(kind, `"`)
		sum["requests of "+kind] += value
	case name == "store_statements":
		sum["statements"] += value
	case name == "key_writes":
		sum["keys"] += value
	case name == "visitor_lookups":
		sum["lookups"] += value
	case name == "ledger_reads":
		sum["ledger"] += value
	case name == "flush" && suffix == "_seconds_count":
		sum["flushes"] += value
	case name == "flush" && suffix == "_seconds_sum":
		sum["flush seconds"] += value
	case name == "generations":
		sum["generations"] += value
	}
}
