package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/segmentio/kafka-go"

	"footfall/deployments/stack/stacktest"
	"footfall/models"
	"footfall/test/e2e/broker"
	"footfall/test/e2e/load"
	"footfall/test/e2e/oracle"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// badLetters is how many events become dead letters.
const badLetters = 1000

// A thousand events become dead letters, some of them more than once. They are mended and sent again by a command that is killed three times with
// events in the topics that its ledger does not know of. Each is counted once: every cell equals the oracle's. Another run adds nothing.
//
// The consumers find no duplicates (window 0), so that nothing but the replay itself keeps events from being counted twice.
func TestReplayOfDeadLetters(t *testing.T) {
	t.Parallel()
	kafkaAddress, host, port := stacktest.Require(t)
	cluster := gocql.NewCluster(host)
	cluster.Port = port
	d := prepare(t, byDefault, kafkaAddress, cluster, "FOOTFALL_DUPLICATES_WINDOW=0")
	d.open(t, 1)
	d.stable(t, 1)
	x := replays{d, d.Dead + "-replayed"}
	t.Cleanup(func() { x.removeLedger(t) })

	const n = 300
	good := load.Make(97, n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	want, _ := send(t, d, good, order, nil)
	x.bad(t, want)
	d.settle(t, want)
	x.repeatLetters(t)

	rules := []string{"--scale", "ts=1000", "--rename", "page=feature1", "--site", "shpo=shop", "--rename", "link=short_url"}
	dry := x.run(t, rules...)
	if dry.Letters != badLetters || dry.Repeats < badLetters/3 || dry.Fates["send"] != badLetters || dry.Sent != 0 {
		t.Fatalf("the dry run says %+v", dry)
	}
	x.list(t)
	before := x.ends(t)
	sending := append([]string{"--send", "--rate", "200"}, rules...)
	for kill := range 3 {
		x.kill(t, fmt.Sprint("replay", kill), before, int64(kill)*250+100, sending)
	}
	if last := x.run(t, sending...); last.Fates["before"]+last.Sent != badLetters || last.Sent == 0 {
		t.Errorf("the last run says %+v", last)
	}
	if sent := x.ends(t) - before; sent != badLetters || x.known(t) != badLetters {
		t.Errorf("%d events were sent, and the ledger knows %d, want %d", sent, x.known(t), badLetters)
	}
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))

	if again := x.run(t, sending...); again.Sent != 0 || again.Fates["before"] != badLetters {
		t.Errorf("the second run says %+v", again)
	}
	if sent := x.ends(t) - before; sent != badLetters {
		t.Errorf("%d events were sent after the second run, want %d", sent, badLetters)
	}
}

// replays runs `consumer replay` on a deployment.
type replays struct {
	*real
	ledger string
}

// replayed is what `consumer replay --json` prints.
type replayed struct {
	Letters, Repeats, Sent int
	Fates                  map[string]int
}

func (x replays) command(name string, args ...string) process.Command {
	return process.Command{Name: name, Args: append([]string{"replay", "--json"}, args...), Env: x.env, Dir: x.dir}
}

func (x replays) run(t *testing.T, args ...string) (said replayed) {
	t.Helper()
	c := x.command("replay"+unique(), args...)
	c.Path = binaries.Path(t, "consumer")
	printed, err := process.Run(patiently(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(printed), &said); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	return said
}

// list tells the letters to a person: what cannot be mended without rules, and no addresses.
func (x replays) list(t *testing.T) {
	t.Helper()
	c := process.Command{Name: "replay" + unique(), Path: binaries.Path(t, "consumer"), Args: []string{"replay", "--list", "--since", "1h"}, Env: x.env, Dir: x.dir}
	printed, err := process.Run(patiently(t), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"by reason: unknown_feature 400, bad_timestamp 200, missing_short_url 200, wrong_partition 200\n", "would be sent: 200 (", "nothing was sent: --send sends\n"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the listing lacks %q: it ends with\n%s", want, printed[max(0, len(printed)-1500):])
		}
	}
	if lines := strings.Count(printed, "\n"); lines < badLetters || strings.Contains(printed, "203.0.113.") {
		t.Errorf("the listing has %d lines, or addresses of visitors", lines)
	}
	t.Logf("…%s", printed[max(0, len(printed)-900):])
}

// bad writes events that cannot be counted to the topics, and lets the oracle count them as they should have been.
func (x replays) bad(t *testing.T, o *oracle.Oracle) {
	t.Helper()
	ends, err := x.Ends(t.Context(), x.Topics[1])
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	var errs error
	busy := make(chan struct{}, 8)
	for i := range badLetters {
		topic, key, value, event := badEvent(i)
		event.Tell(o)
		partition := broker.Murmur2(key, len(ends))
		if i%5 == 4 {
			partition = (partition + 1) % len(ends)
		}
		busy <- struct{}{}
		group.Go(func() {
			defer func() { <-busy }()
			_, err := x.Produce(t.Context(), x.Topics[topic], partition, key, value)
			mu.Lock()
			defer mu.Unlock()
			errs = errors.Join(errs, err)
		})
	}
	group.Wait()
	if errs != nil {
		t.Fatal(errs)
	}
}

// badEvent makes the i-th event, as it is sent and as it was meant.
func badEvent(i int) (topic int, key, value string, meant load.Event) {
	const second = 1538352000
	at := int64(second + i*977)
	v := &models.Visit{V: 1, ID: fmt.Sprint("bad", i), SiteID: "shop", GUID: fmt.Sprint("g", i%90), TS: models.Millis(at * 1000), Features: []string{fmt.Sprint("page", i%3), ""}}
	meant.Visit = v
	visit := func(site, ts, page string) string {
		return fmt.Sprintf(`{"v":1,"id":%q,"siteId":%q,"guid":%q,"ts":%s,%q:%q}`, v.ID, site, v.GUID, ts, page, v.Features[0])
	}
	key = "shop|" + v.GUID
	seconds, millis := fmt.Sprint(at), fmt.Sprint(at*1000)
	switch i % 5 {
	case 0: // bad_timestamp
		return 1, key, visit("shop", seconds, "feature1"), meant
	case 1: // unknown_feature
		return 1, key, visit("shop", millis, "page"), meant
	case 2: // both, on a site that does not exist
		return 1, "shpo|" + v.GUID, visit("shpo", seconds, "page"), meant
	case 3: // missing_short_url
		c := &models.Click{V: 1, ID: v.ID, ShortURL: fmt.Sprint("bad", i%7), IP: fmt.Sprintf("203.0.113.%d", i%60), TS: v.TS, Country: "IT"}
		return 0, "|" + c.IP, fmt.Sprintf(`{"v":1,"id":%q,"link":%q,"ip":%q,"ts":%s,"country":"IT"}`, c.ID, c.ShortURL, c.IP, seconds), load.Event{Click: c}
	}
	return 1, key, visit("shop", millis, "feature1"), meant // the caller puts it into a wrong partition
}

// repeatLetters writes two of five letters once more, as consumers do after a crash.
func (x replays) repeatLetters(t *testing.T) {
	t.Helper()
	dead, err := x.DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(dead) != badLetters {
		t.Fatalf("%d dead letters, want %d", len(dead), badLetters)
	}
	var records []kafka.Record
	for origin, m := range dead {
		if strings.HasSuffix(origin, "1") || strings.HasSuffix(origin, "3") || strings.HasSuffix(origin, "6") || strings.HasSuffix(origin, "8") {
			records = append(records, kafka.Record{Key: kafka.NewBytes(m.Key), Value: kafka.NewBytes(m.Value), Headers: m.Headers, Time: time.Now()})
		}
	}
	for chunk := range slices.Chunk(records, 100) {
		answer, err := x.Client.Produce(t.Context(), &kafka.ProduceRequest{
			Topic: x.Dead, Partition: 1, RequiredAcks: kafka.RequireAll, Records: kafka.NewRecordReader(chunk...),
		})
		if err == nil {
			err = answer.Error
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// ends is how many events the topics have.
func (x replays) ends(t *testing.T) (n int64) {
	t.Helper()
	ends, err := x.Ends(t.Context(), x.Topics...)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range ends {
		n += end
	}
	return n
}

// known is how many letters the ledger says were sent.
func (x replays) known(t *testing.T) int64 {
	t.Helper()
	b := broker.New(x.Client.Addr.String(), x.Group, x.ledger) // another client: that of the deployment may not know the topic yet
	ends, err := b.Ends(t.Context(), x.ledger)
	if err != nil {
		t.Fatal(err)
	}
	letters := map[string]bool{}
	for p, end := range ends {
		err := b.Read(t.Context(), p, end, func(m kafka.Message) error {
			if strings.HasPrefix(string(m.Key), "sent/") {
				letters[string(m.Key)] = true
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return int64(len(letters))
}

// kill starts a replay and kills it when the topics have more events than its ledger knows of, after so many. To look, it stops the process for
// a moment.
func (x replays) kill(t *testing.T, name string, before, after int64, args []string) {
	t.Helper()
	c := x.command(name, args...)
	c.Path = binaries.Path(t, "consumer")
	p, err := process.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	last := max(x.ends(t), before+after)
	harness.Within(t, time.Minute, "a moment to kill the replay", func() error {
		for x.ends(t) <= last {
			if !p.Running() {
				t.Fatalf("the replay has ended\n%s", p.Tail(20))
			}
		}
		if err := p.Pause(); err != nil {
			return err
		}
		last = x.ends(t)
		if sent, known := last-before, x.known(t); sent > known {
			t.Logf("killed with %d events sent, of which the ledger knows %d", sent, known)
			p.Kill()
			return nil
		}
		if err := p.Resume(); err != nil {
			return err
		}
		return errors.New("the ledger knows all that was sent")
	})
}

func (x replays) removeLedger(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if _, err := x.Client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: []string{x.ledger}}); err != nil {
		t.Error(err)
	}
}
