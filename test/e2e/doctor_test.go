package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/test/e2e/broker"
	"footfall/test/e2e/process"
)

// examination is what `consumer doctor --json` prints.
type examination struct {
	Healthy  bool
	Seconds  float64
	Findings []struct {
		Check, Severity, What, Remedy string
		Seconds                       float64
	}
	failed bool // exit code
}

func (x examination) first() string {
	f := x.Findings[0]
	return f.Severity + " " + f.Check + ": " + f.What
}

// TestDoctor: on a healthy deployment the doctor finds nothing, within ten seconds, and its canary is counted once. Of each fault that is injected
// it names the right one first, with a remedy.
func TestDoctor(t *testing.T) {
	t.Parallel()
	d := prepareReal(t, byDefault)
	const key = "5e0c7d41f2"
	file := filepath.Join(d.dir, "key")
	if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.open(t, 0, "FOOTFALL_ACCESS_OPEN=false", fmt.Sprintf(`FOOTFALL_ACCESS_SITES=[{"links":"footfall.canary.*","key_hashes":["%x"]}]`, sha256.Sum256([]byte(key))))
	if err := os.WriteFile(file+"-wrong", []byte("guess"), 0o600); err != nil {
		t.Fatal(err)
	}
	x := doctors{real: d, t: t, key: file}
	x.expect("fault group: no consumer runs")
	member := d.addConsumer(t)
	d.stable(t, 1)
	x.healthy()
	x.answers()
	x.tables()
	x.producers(member)
	x.records(member)
}

// doctors runs doctors of a deployment.
type doctors struct {
	*real
	t   *testing.T
	key string // file; empty: none is needed
}

// run runs a doctor. Arguments with a = and no dashes are environment.
func (x doctors) run(args ...string) (found examination) {
	x.t.Helper()
	env := slices.Clone(x.env)
	flags := []string{"doctor", "--json", "--producer", x.url}
	for _, a := range args {
		if strings.HasPrefix(a, "FOOTFALL_") {
			env = append(env, a)
		} else {
			flags = append(flags, a)
		}
	}
	if x.key != "" && !slices.Contains(flags, "--key-file") {
		flags = append(flags, "--key-file", x.key)
	}
	printed, err := process.Run(patiently(x.t), process.Command{Name: "doctor" + unique(), Path: binaries.Path(x.t, "consumer"), Args: flags, Env: env, Dir: x.dir})
	if parsed := json.Unmarshal([]byte(printed), &found); parsed != nil {
		x.t.Fatalf("%v, %v: %s", parsed, err, printed)
	}
	if found.failed = err != nil; found.failed == found.Healthy {
		x.t.Errorf("healthy %v, but the command ended with %v", found.Healthy, err)
	}
	return found
}

// expect runs a doctor, whose first finding must begin with this text.
func (x doctors) expect(want string, args ...string) {
	x.t.Helper()
	found := x.run(args...)
	if f := found.Findings[0]; !strings.HasPrefix(found.first(), want) || f.Remedy == "" && !found.Healthy {
		x.t.Errorf("the doctor says %q, want %q; all: %+v", found.first(), want, found.Findings)
	}
	x.t.Logf("%.1f s: %s (%s)", found.Seconds, found.first(), found.Findings[0].Remedy)
}

// healthy runs a doctor of a deployment that nothing was done to.
func (x doctors) healthy() {
	x.t.Helper()
	found := x.counted()
	if found.Findings[0].Severity != "ok" || found.Seconds > 10 {
		x.t.Errorf("a healthy deployment, after %.1f s: %+v", found.Seconds, found.Findings)
	}
}

// counted runs a doctor, which may warn. Its canary must be counted.
func (x doctors) counted() examination {
	x.t.Helper()
	found := x.run()
	if !found.Healthy {
		x.t.Errorf("the doctor says %+v", found.Findings)
	}
	last := found.Findings[len(found.Findings)-1]
	if last.Check != "canary" || last.Severity != "ok" || last.Seconds <= 0 {
		x.t.Errorf("the canary: %+v", last)
	}
	x.t.Logf("%.1f s; %s", found.Seconds, last.What)
	return found
}

// answers takes servers away, by addresses and settings.
func (x doctors) answers() {
	x.t.Helper()
	x.expect("fault kafka: Kafka at 127.0.0.1:1 does not answer", "FOOTFALL_KAFKA_BROKERS=127.0.0.1:1")
	x.expect("fault kafka: ", "FOOTFALL_KAFKA_SASL_MECHANISM=plain", "FOOTFALL_KAFKA_SASL_USERNAME=footfall", "FOOTFALL_KAFKA_SASL_PASSWORD=guess")
	x.expect("fault cassandra: Cassandra does not answer", "FOOTFALL_CASSANDRA_PORT=1")
	x.expect("fault topics: topic nowhere does not exist", "FOOTFALL_KAFKA_TOPICS_DEAD=nowhere")
	x.expect("fault schema: keyspace footfall_nowhere has no schema", "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=_nowhere")
	x.expect("fault schema: the tables of keyspace", "FOOTFALL_FEATURES=referrer,page")
	x.expect("fault write timeout: cassandra.timeout is 1s", "FOOTFALL_CASSANDRA_TIMEOUT=1s")
	x.expect("fault partitions: topic", "FOOTFALL_DUPLICATES_WINDOW=7")
	x.expect("fault canary: the producer at http://127.0.0.1:1 does not answer", "--producer", "http://127.0.0.1:1")
	x.expect("fault canary: the producer at "+x.url+" refuses the canary: 403", "--key-file", x.key+"-wrong")
}

// tables changes the topics and what the tables record, and changes it back.
func (x doctors) tables() {
	x.t.Helper()
	clicks, visits := x.Topics[0], x.Topics[1]
	for _, c := range []struct{ topic, name, value, want string }{
		{visits, "cleanup.policy", "compact", "fault cleanup policy: topic " + visits + " has cleanup.policy=compact"},
		{clicks, "retention.ms", "3600000", "fault retention: topic " + clicks + " keeps its events for 1h0m0s"},
		{visits, "message.timestamp.after.max.ms", "172800001", "warning retention: whoever writes to topic " + visits},
		{clicks, "min.insync.replicas", "2", "fault acks: topic " + clicks + " has min.insync.replicas 2, but 1 replicas"},
	} {
		x.alter(c.topic, c.name, c.value, kafka.ConfigOperationSet)
		x.expect(c.want)
		x.alter(c.topic, c.name, "", kafka.ConfigOperationDelete)
	}
	x.exec(x.t, "INSERT INTO footfall%s.leases (name, kind, id, what) VALUES ('tables', 'pause', 'x', 'somebody') USING TTL 60")
	x.expect("warning pause: counting is paused by somebody")
	x.exec(x.t, "DELETE FROM footfall%s.leases WHERE name = 'tables'")
	const migrations = "footfall%s.schema_migrations"
	var checksum string
	if err := x.session.Query(fmt.Sprintf("SELECT checksum FROM "+migrations+" WHERE version = 2", x.suffix)).Scan(&checksum); err != nil {
		x.t.Fatal(err)
	}
	x.exec(x.t, "INSERT INTO "+migrations+" (version, checksum) VALUES (999, 'x')")
	x.expect("fault schema: the database's schema is at version 999")
	x.exec(x.t, "DELETE FROM "+migrations+" WHERE version = 999")
	x.exec(x.t, "DELETE FROM "+migrations+" WHERE version = 2")
	x.expect("fault schema: the database's schema is older than this binary")
	x.exec(x.t, "INSERT INTO "+migrations+" (version, checksum) VALUES (2, '"+checksum+"')")
}

// producers sends canaries that are not counted in time, or several at a time: each doctor knows its own.
func (x doctors) producers(member *consumer) {
	x.t.Helper()
	x.stable(x.t, 1)
	if err := member.Pause(); err != nil {
		x.t.Fatal(err)
	}
	x.expect("fault canary: the canary is in Kafka, but it was not counted within")
	if err := member.Resume(); err != nil {
		x.t.Fatal(err)
	}
	x.stable(x.t, 1) // a slow machine may have kept it paused for longer than the session timeout
	var several sync.WaitGroup
	for range 3 {
		several.Go(func() { x.counted() })
	}
	several.Wait()
	x.onlyBots()
}

// onlyBots checks that canaries are in the tables of bots' clicks, and in no list or other count.
func (x doctors) onlyBots() {
	x.t.Helper()
	scanner := x.session.Query("SELECT table_name FROM system_schema.columns WHERE keyspace_name = ? AND column_name = 'short_url' ALLOW FILTERING", "urlshortener"+x.suffix).Iter().Scanner()
	var have []string
	for scanner.Next() {
		var table string
		if err := scanner.Scan(&table); err != nil {
			x.t.Fatal(err)
		}
		links := x.session.Query("SELECT short_url FROM urlshortener" + x.suffix + "." + table).Iter().Scanner()
		for links.Next() {
			var link string
			if err := links.Scan(&link); err != nil {
				x.t.Fatal(err)
			}
			if strings.HasPrefix(link, "footfall.canary.") && !slices.Contains(have, table) {
				have = append(have, table)
			}
		}
		if err := links.Err(); err != nil {
			x.t.Fatal(err)
		}
	}
	slices.Sort(have)
	if want := []string{"applied", "botcounter", "latestclicks"}; scanner.Err() != nil || !slices.Equal(have, want) { // latest.enabled is on here
		x.t.Errorf("canaries are in %q, want %q; %v", have, want, scanner.Err())
	}
}

// records leaves things behind that somebody has to look after.
func (x doctors) records(member *consumer) {
	x.t.Helper()
	visits := x.Topics[1]
	if _, err := x.Produce(x.t.Context(), visits, 0, "k", "no event"); err != nil {
		x.t.Fatal(err)
	}
	x.settle(x.t, nil)
	x.expect("warning dead letters: dead letters of the last day: 1 (bad_json 1)")
	// Consumers settle a doubt that has no events, so it is of a partition of an owner that is away.
	stop(x.t, member.Process)
	x.exec(x.t, "INSERT INTO footfall%s.doubts (topic, kafka_partition, id, from_offset, to_offset, reason, since, checks) VALUES ('"+visits+"', 0, 1, 0, 1, 'test', '"+
		time.Now().Add(-time.Hour).UTC().Format("2006-01-02 15:04:05+0000")+"', 0)")
	found := x.run()
	if !strings.HasPrefix(found.first(), "fault group: no consumer runs") || !strings.HasPrefix(found.Findings[1].What, "doubts open: 1 (test 1)") {
		x.t.Errorf("%+v", found.Findings[:2])
	}
	x.exec(x.t, "ALTER KEYSPACE urlshortener%s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 2}")
	x.expect("fault replication: the replication of the keyspaces is")
	x.exec(x.t, "ALTER KEYSPACE urlshortener%s WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")

	ends, err := x.Ends(x.t.Context(), visits)
	if err != nil {
		x.t.Fatal(err)
	}
	gone := broker.Partition{Topic: visits, Number: 1}
	x.moveGroup(x.t, gone, ends[gone]+5)
	x.expect("fault offsets: partition 1 of topic " + visits + " does not reach offset")
	x.addPartitions(x.t, visits, len(ends)+1)
	x.expect("fault partitions: topic " + visits + " has partitions")
	x.fromTheFuture()
	x.expect("fault clocks: the newest message of topic")
}

// fromTheFuture writes a message as a producer with a wrong clock does.
func (x doctors) fromTheFuture() {
	x.t.Helper()
	answer, err := x.Client.Produce(x.t.Context(), &kafka.ProduceRequest{Topic: x.Topics[0], RequiredAcks: kafka.RequireAll,
		Records: kafka.NewRecordReader(kafka.Record{Time: time.Now().Add(10 * time.Minute), Value: kafka.NewBytes([]byte("{}"))})})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

// alter sets a topic's setting, or takes it back.
func (x doctors) alter(topic, name, value string, how kafka.ConfigOperation) {
	x.t.Helper()
	answer, err := x.Client.IncrementalAlterConfigs(x.t.Context(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{Name: name, Value: value, ConfigOperation: how}}}},
	})
	if err == nil {
		err = answer.Resources[0].Error
	}
	if err != nil {
		x.t.Fatal(err)
	}
}
