package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gocql/gocql"

	"footfall/models"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

// `consumer audit` finds what a zombie counted twice, reports it, and repairs it from the log while a consumer runs.
func TestAudit(t *testing.T) {
	t.Parallel()
	d := newReal(t, 0)
	consumer := d.addConsumer(t)
	const n = 1000
	events := append(load.Make(11, n), zombieClicks()...)
	want, _ := send(t, d, events, load.Order(11, len(events)), nil)
	d.settle(t, want)
	d.audit(t, true, "0 off, 0 repaired, 0 links whose sums differ")

	d.zombie(t)
	d.audit(t, false, "are counted 2 times", "1 off, 0 repaired")
	d.audit(t, true, "1 off, 1 repaired", "--repair")
	equal(t, want.Cells(), d.dump(t))
	d.audit(t, true, "0 off, 0 repaired, 0 links whose sums differ")
	d.doubted(t, "repaired by an audit") // the consumers will check it again

	// Where Kafka has deleted events, a repair would be a guess.
	stop(t, consumer.Process) // else it would repair this first
	topic, partition, from := d.zombie(t)
	d.deleteRecords(t, topic, partition, from+1)
	d.audit(t, false, "1 of them are no longer in the log", "events cannot be told from duplicates", "1 off, 0 repaired", "--repair")

	// A counter changed by hand shows in the sums.
	d.exec(t, "UPDATE urlshortener%[1]s.hourcounters SET value = value + 1 WHERE short_url = 'zombie' AND hour = 1436968800000")
	d.audit(t, false, "zombie: clickcounter has 100, hourcounters add up to 101", "1 links whose sums differ")
}

// audit runs `consumer audit`, with --repair if that is the last of texts. It must succeed or not, as clean says, and print the texts.
func (d *real) audit(t *testing.T, clean bool, texts ...string) {
	t.Helper()
	args := []string{"audit"}
	if texts[len(texts)-1] == "--repair" {
		args, texts = append(args, "--repair"), texts[:len(texts)-1]
	}
	printed, err := process.Run(patiently(t), process.Command{
		Name: "audit" + unique(), Path: binaries.Path(t, "consumer"), Args: args, Env: d.env, Dir: d.dir,
	})
	if (err == nil) != clean {
		t.Fatalf("audit: %v\n%s", err, printed)
	}
	for _, text := range texts {
		if !strings.Contains(printed, text) {
			t.Errorf("audit did not print %q but\n%s", text, printed)
		}
	}
}

// zombieClicks are clicks of one visitor on one link in one hour: their cells are known, so that zombie can count them again.
func zombieClicks() []load.Event {
	var events []load.Event
	for i := range 50 {
		events = append(events, load.Event{Click: &models.Click{
			V: 1, ID: fmt.Sprint("z", i), ShortURL: "zombie", IP: "203.0.113.7", Country: "IT", TS: 1436968800000,
		}})
	}
	return events
}

// zombie counts zombieClicks again under another epoch, as a consumer does that does not know that it has lost its partition.
func (d *real) zombie(t *testing.T) (topic string, partition int, from int64) {
	t.Helper()
	var epoch, to int64
	err := d.session.Query("SELECT topic, kafka_partition, epoch, from_offset, to_offset FROM urlshortener"+d.suffix+
		".applied WHERE short_url = 'zombie' LIMIT 1").Scan(&topic, &partition, &epoch, &from, &to)
	if err != nil {
		t.Fatal(err)
	}
	batch := d.session.NewBatch(gocql.CounterBatch)
	for table, where := range map[string]string{
		"clickcounter": "", "uniquecounter": "", "hourcounters": " AND hour = 1436968800000", "daycounters": " AND day = '2015-07-15Z'",
		"countrycounters": " AND country = 'IT'", "referrercounters": " AND referrer = ''",
	} {
		again := 50
		if table == "uniquecounter" {
			again = 1
		}
		batch.Query(fmt.Sprintf("UPDATE urlshortener%s.%s SET value = value + %d WHERE short_url = 'zombie'%s", d.suffix, table, again, where))
	}
	var dimension, label string
	months := d.session.Query("SELECT dimension, label FROM urlshortener" + d.suffix + ".monthcounters WHERE short_url = 'zombie'").Iter()
	for months.Scan(&dimension, &label) {
		batch.Query("UPDATE urlshortener"+d.suffix+".monthcounters SET value = value + 50 WHERE short_url = 'zombie' AND month = '2015-07-01Z' AND dimension = ?"+
			" AND label = ?", dimension, label)
	}
	if err := months.Close(); err != nil {
		t.Fatal(err)
	}
	batch.Query(fmt.Sprintf("UPDATE urlshortener%s.applied SET from_offset = from_offset + %d, to_offset = to_offset + %d"+
		" WHERE short_url = 'zombie' AND topic = '%s' AND kafka_partition = %d AND kind = 'owner' AND epoch = %d",
		d.suffix, from, to, topic, partition, epoch+1))
	if err := d.session.ExecuteBatch(batch); err != nil {
		t.Fatal(err)
	}
	return topic, partition, from
}

// doubted checks that a doubt with this reason is open.
func (d *real) doubted(t *testing.T, reason string) {
	t.Helper()
	var n int
	query := "SELECT count(*) FROM footfall" + d.suffix + ".doubts WHERE reason = ? ALLOW FILTERING"
	if err := d.session.Query(query, reason).Scan(&n); err != nil || n == 0 {
		t.Errorf("%d doubts because of %q, %v", n, reason, err)
	}
}

func (d *real) exec(t *testing.T, cql string) {
	t.Helper()
	if err := d.session.Query(fmt.Sprintf(cql, d.suffix)).Exec(); err != nil {
		t.Fatal(err)
	}
}
