package rebuild

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	"footfall/configs"
	"footfall/consumer/rollup"
	"footfall/consumer/store"
	"footfall/consumer/store/memstore"
	"footfall/models"
	"footfall/models/modelstest"
)

// A second set of tables is counted from one source. Events of another file of the same name, or of a topic, would be skipped or counted
// twice, so they are refused.
func TestRunFileRefusesTablesOfAnotherSource(t *testing.T) {
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	visits := []*models.Visit{modelstest.VisitAt(4, 1), modelstest.VisitAt(4, 2)}
	file := rollup.VisitsFile{Name: "visits.csv", Lines: 2, Sum: "aa", Read: func(each func(*models.Visit) error) error {
		for _, v := range visits {
			if err := each(v); err != nil {
				return err
			}
		}
		return nil
	}}
	m := memstore.New()
	f := func(m *memstore.Memory, file rollup.VisitsFile, want string) {
		t.Helper()
		writes := m.Writes
		err := RunFile(t.Context(), cfg, m, file, slog.New(slog.NewTextHandler(io.Discard, nil)), func(string, ...any) {})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || m.Writes != writes) {
			t.Errorf("%s: %v, %d writes; want %q", sourceOf(file), err, m.Writes-writes, want)
		}
	}
	f(m, file, "")
	if m.Writes == 0 {
		t.Error("nothing was counted")
	}
	f(m, file, "") // it goes on
	other := file
	other.Sum = "bb"
	f(m, other, "counted from file visits.csv with SHA-256 aa, not from file visits.csv with SHA-256 bb")
	other = file
	other.Site = "site2"
	f(m, other, "not from file visits.csv of site site2")
	other = file
	other.Name = "november.csv"
	f(m, other, "hold counts from file:visits.csv")
	topics := func(m *memstore.Memory) error {
		return onlyFrom(t.Context(), m, "topics", func(topic string) bool { return !strings.HasPrefix(topic, fileTopic) },
			func(string, ...any) {})
	}
	if err := topics(m); err == nil || !strings.Contains(err.Error(), "hold counts from file:visits.csv") {
		t.Errorf("topics into the tables of a file: %v", err)
	}

	m = memstore.New() // a replay that had nothing to count yet
	if err := topics(m); err != nil {
		t.Fatal(err)
	}
	f(m, file, "are counted from topics")
	m = memstore.New() // tables that consumers count into
	m.Apply(t.Context(), []store.KeyWrite{{
		Key: models.Key{Keyspace: models.URLShortener, Name: "abc"}, Ledger: []store.LedgerRow{{LedgerID: store.LedgerID{Partition: visits0, Kind: store.KindOwner, Epoch: 1}, From: 0, To: 1}},
	}})
	f(m, file, "hold counts from visits")
}

var visits0 = models.Partition{Topic: "visits", Number: 0}
