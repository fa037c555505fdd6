package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"footfall/configs"
	"footfall/models"
	"footfall/producer/intake"
)

// withLinks is the producer with a store of links in memory, in which every name exists. It stands for Cassandra, from which a producer
// reads a link once and then follows it from its cache.
const withLinks = "producer with links"

func producerWithLinks() {
	cfg, err := configs.LoadProducer("")
	if err == nil {
		err = intake.Run(context.Background(), cfg, intake.Opened(everyLink{}), prometheus.NewRegistry(), slog.New(slog.NewJSONHandler(os.Stderr, nil)), func(string, string) {})
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

type everyLink struct{}

func (everyLink) Create(context.Context, string, string, time.Time) (string, bool, error) {
	return "", true, nil
}

func (everyLink) Target(context.Context, string) (string, bool, error) {
	return "https://example.org/", true, nil
}

// The limits that are on by default.
const newVisitorsPerMinute, newReferrersPerMinute = 30_000, 60

// heldVisitors checks that a site got no more new visitors than its limit allows.
func (d *hostileProducer) heldVisitors(t *testing.T, minutes int) {
	visitors := map[string]bool{}
	for _, m := range d.messages(t, d.visits) {
		visitors[string(m.Key)] = true
	}
	t.Logf("%d visitors were made up in %d minutes", len(visitors), minutes)
	if got := len(visitors); got == 0 || got > minutes*newVisitorsPerMinute {
		t.Errorf("%d made-up visitors were accepted in %d minutes, want %d a minute at the most", got, minutes, newVisitorsPerMinute)
	}
}

// heldReferrers checks the same for the referrers of a link.
func (d *hostileProducer) heldReferrers(t *testing.T, minutes int) {
	referrers, clicks := map[string]bool{}, d.clicksOf(t, "bad")
	for _, c := range clicks {
		if c.Referrer != "" {
			referrers[c.Referrer] = true
		}
	}
	t.Logf("%d referrers were made up in %d minutes, with %d clicks", len(referrers), minutes, len(clicks))
	if got := len(referrers); got == 0 || got > minutes*newReferrersPerMinute {
		t.Errorf("%d made-up referrers were accepted in %d minutes, want %d a minute at the most", got, minutes, newReferrersPerMinute)
	}
}

// meets waits until a hostile tenant has reached its limit, which takes a while on a slow machine.
func (d *hostileProducer) meets(t *testing.T, kind string) {
	t.Helper()
	if d.metric(t, hostile[kind].limit) > 0 {
		return
	}
	defer startHostile(t, kind, d.addr)()
	for until := time.Now().Add(30 * time.Second); d.metric(t, hostile[kind].limit) == 0; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s is 0: the hostile tenant never reached its limit", hostile[kind].limit)
		}
	}
}

// metric reads a metric of the producer; 0 if there is none.
func (d *hostileProducer) metric(t *testing.T, name string) (value float64) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.admin+"/metrics", nil)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	text, err := io.ReadAll(response.Body)
	must(t, errors.Join(err, response.Body.Close()))
	for line := range strings.Lines(string(text)) {
		if number, found := strings.CutPrefix(line, name+" "); found {
			value, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
			must(t, err)
		}
	}
	return value
}

// clicksOf are a link's clicks that are in Kafka, each as often as it is there.
func (d *hostileProducer) clicksOf(t *testing.T, link string) (of []*models.Click) {
	t.Helper()
	for _, m := range d.messages(t, d.clicks) {
		c, err := models.UnmarshalClick(m.Value, true)
		must(t, err)
		if c.ShortURL == link {
			of = append(of, c)
		}
	}
	return of
}

// messages reads a topic from its beginning to its current end.
func (d *hostileProducer) messages(t *testing.T, topic string) (all []kafka.Message) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var asked []kafka.OffsetRequest
	for partition := range 6 {
		asked = append(asked, kafka.LastOffsetOf(partition))
	}
	found, err := (&kafka.Client{Addr: kafka.TCP(d.broker)}).ListOffsets(ctx, &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: asked}})
	must(t, err)
	for _, partition := range found.Topics[topic] {
		must(t, partition.Error)
		reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{d.broker}, Topic: topic, Partition: partition.Partition, MaxWait: 50 * time.Millisecond})
		for next := int64(0); next < partition.LastOffset; {
			m, err := reader.ReadMessage(ctx)
			must(t, err)
			all, next = append(all, m), m.Offset+1
		}
		must(t, reader.Close())
	}
	return all
}
