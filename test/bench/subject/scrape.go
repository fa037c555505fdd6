package subject

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Started waits until the consumer group has given the first of the replicas its partitions.
func Started(ctx context.Context, replicas ...*Replica) error {
	for {
		sum, err := Scrape(ctx, replicas...)
		if err != nil || sum["generations"] > 0 {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Scrape adds up what the replicas tell in their metrics.
func Scrape(ctx context.Context, replicas ...*Replica) (map[string]float64, error) {
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
