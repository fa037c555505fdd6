package footfall_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// allowed says which of our own packages a folder may import. Imports point one way: models ← store ← eventlog ← names, repair ← rollup ← mains.
// Sub-folders belong to the longest prefix listed.
var allowed = map[string][]string{
	"models":     {},
	"configs":    {},
	"migrations": {"models", "configs", "internal/cql", "internal/retry"},

	"internal/await":        {"internal/metric", "internal/retry"},
	"internal/kafka/dial":   {"configs", "internal/retry"},
	"internal/kafka/topics": {"models", "internal/kafka/dial", "internal/retry"},
	"internal/cql":          {"configs", "internal/retry"},
	"internal/cql/cqltest":  {"configs", "internal/cql", "deployments/stack/stacktest"},
	"internal/tables":       {"models"},
	"internal/budget":       {},
	"internal/build":        {},
	"internal/fair":         {},
	"internal/grant":        {"models"},
	"internal/cli":          {"configs", "internal/build"},
	"internal/health":       {"internal/build", "internal/listen"},
	"internal/listen":       {"configs", "internal/fair", "internal/metric"},
	"internal/httpstatus":   {},
	"internal/memlimit":     {},
	"internal/metric":       {},
	"internal/retry":        {},

	// What both doctors share knows Kafka, but not who uses it.
	"internal/doctor":             {},
	"internal/doctor/kafkachecks": {"internal/doctor", "internal/kafka/dial", "internal/kafka/topics"},

	"producer/assets":    {},
	"producer/enrich":    {"models"},
	"producer/answer":    {"models"},
	"producer/links":     {"models", "internal/fair", "internal/metric", "producer/answer", "producer/enrich"},
	"producer/admission": {"models", "configs", "internal/fair", "internal/grant", "producer/answer"},
	"producer/publisher": {"models", "internal/fair", "internal/metric", "internal/kafka/dial", "internal/kafka/topics", "producer/answer", "producer/admission"},
	"producer/intake":    {"models", "configs", "internal/await", "internal/fair", "internal/health", "internal/httpstatus", "internal/kafka/dial", "internal/kafka/topics", "internal/listen", "internal/metric", "producer/answer", "producer/admission", "producer/publisher", "producer/assets", "producer/enrich", "producer/links"},
	"producer/doctor":    {"configs", "internal/doctor", "internal/doctor/kafkachecks", "internal/health", "internal/kafka/dial", "producer/intake", "producer/links/cassandra"},
	"producer":           {"internal/await", "internal/cli", "internal/memlimit", "models", "configs", "internal/kafka/dial", "internal/kafka/topics", "internal/health", "producer/doctor", "producer/intake", "producer/links", "producer/links/cassandra"},

	"producer/links/cassandra": {"configs", "internal/cql"},

	// A store depends on what is asked of it, not on its callers.
	"consumer/store":           {"models"},
	"consumer/store/storetest": {"models", "consumer/store"},
	"consumer/store/memstore":  {"models", "consumer/store"},
	"consumer/eventlog":        {"models", "configs", "internal/retry", "internal/kafka/dial", "internal/kafka/topics", "consumer/store", "internal/await", "internal/budget"},
	"consumer/eventlog/raw":    {"models", "internal/retry", "internal/kafka/dial", "consumer/eventlog"},
	"consumer/repair":          {"models", "internal/metric", "internal/retry", "consumer/store", "consumer/eventlog"},
	"consumer/names":           {"models", "consumer/store", "consumer/eventlog"},
	"consumer/pause":           {"models", "configs", "internal/metric", "internal/retry", "consumer/store", "consumer/eventlog", "consumer/repair"},
	"consumer/rollup":          {"models", "configs", "internal/await", "internal/retry", "internal/kafka/dial", "internal/kafka/topics", "consumer/store", "consumer/eventlog", "consumer/names", "consumer/repair", "consumer/pause", "internal/budget", "internal/memlimit", "internal/metric"},
	// Commands depend on the log and the tables, not on the pipeline, whose simulation runs them. Only a rebuild runs consumers.
	"consumer/maintenance": {"models", "configs", "internal/retry", "internal/kafka/topics", "consumer/store", "consumer/eventlog", "consumer/eventlog/raw", "consumer/repair"},
	"consumer/rebuild":     {"models", "configs", "internal/kafka/topics", "consumer/store", "consumer/eventlog", "consumer/maintenance", "consumer/rollup"},
	// Dead letters are parsed and mended without I/O. Sending them again depends on the log, not on the pipeline.
	"consumer/deadletters": {"models"},
	"consumer/replay":      {"models", "internal/retry", "internal/kafka/dial", "internal/kafka/topics", "consumer/store", "consumer/eventlog", "consumer/eventlog/raw", "consumer/deadletters", "consumer/maintenance"},
	"consumer/cassandra":   {"internal/tables", "models", "configs", "migrations", "internal/cql", "internal/metric", "consumer/store", "internal/retry"},
	"consumer/gcpacer":     {},
	"consumer/doctor":      {"models", "configs", "internal/retry", "internal/cql", "internal/doctor", "internal/doctor/kafkachecks", "internal/kafka/dial", "internal/kafka/topics", "consumer/store", "consumer/eventlog", "consumer/cassandra"},
	"consumer":             {"internal/cli", "internal/memlimit", "models", "configs", "migrations", "consumer/store", "consumer/rollup", "consumer/maintenance", "consumer/pause", "consumer/rebuild", "consumer/doctor", "consumer/deadletters", "consumer/eventlog", "consumer/replay", "consumer/cassandra", "consumer/gcpacer", "internal/health", "internal/await", "internal/kafka/dial", "internal/metric", "internal/retry"},

	// A reader knows the tables, not who fills them.
	"reader/stats":             {"models"},
	"reader/stats/statstest":   {"models", "reader/stats", "simulator/mock", "simulator/tables"},
	"reader/cassandra":         {"internal/tables", "models", "configs", "migrations", "internal/cql", "reader/stats"},
	"reader/access":            {"models", "configs", "internal/grant"},
	"reader/table":             {},
	"reader/export":            {"internal/cli", "models", "reader/stats", "reader/table"},
	"reader/export/parquet":    {"models", "reader/export"},
	"reader/export/exporttest": {"reader/export/parquet", "models", "reader/export", "reader/stats", "simulator/mock", "simulator/tables"},
	"reader/plot":              {"models", "reader/stats"},
	"reader/params":            {"models"},
	"reader/page":              {"models", "reader/stats", "reader/export", "reader/plot", "reader/params"},
	"reader/web":               {"internal/fair", "internal/grant", "internal/httpstatus", "internal/listen", "internal/metric", "models", "configs", "internal/health", "reader/stats", "reader/table", "reader/export", "reader/access", "reader/page", "reader/params"},
	"reader":                   {"internal/await", "internal/cli", "internal/memlimit", "models", "configs", "internal/health", "internal/cql", "reader/stats", "reader/export", "reader/export/parquet", "reader/cassandra", "reader/access", "reader/web"},

	// Nothing may import embedded: it can be deleted without touching the core.
	"embedded/sqlite": {"internal/tables", "models", "consumer/store", "reader/stats"},
	"embedded/broker": {"configs", "internal/listen", "models"},
	"embedded":        {"internal/cli", "internal/memlimit", "internal/health", "configs", "models", "consumer/rollup", "internal/kafka/dial", "producer/intake", "producer/links", "internal/kafka/topics", "embedded/sqlite", "embedded/broker", "reader/stats", "reader/web", "reader/access"},

	// The simulator counts for itself: nothing of what it judges may help it.
	"simulator/mock":   {},
	"simulator/tables": {"simulator/mock"},
	"simulator/store":  {"configs", "simulator/tables"},
	"simulator":        {"internal/cli", "configs", "simulator/mock", "simulator/store", "simulator/tables"},

	"docs/examples": {}, // what others write against us has nothing of ours

	"deployments":                 {"configs", "deployments/stack"},
	"deployments/monitoring":      {},
	"deployments/helm/autoscale":  {}, // deployments/helm/check is a module of its own
	"deployments/stack":           {},
	"deployments/stack/stacktest": {"deployments/stack"},
	"deployments/stackctl":        {"internal/cli", "deployments/stack"},
	"test/breaks":                 {"internal/cli", "deployments/stack", "test/e2e"},
	"test/bench":                  {"internal/cli", "models", "configs", "consumer/rollup", "consumer/store", "consumer/cassandra", "consumer/gcpacer", "internal/cql", "internal/kafka/dial", "internal/kafka/topics", "test/bench/workload", "test/bench/machine", "test/bench/subject", "test/bench/live", "test/e2e", "deployments/stack"},
	"test/bench/machine":          {},
	"test/bench/workload":         {"models"},
	"test/bench/subject":          {"configs", "internal/kafka/dial", "internal/kafka/topics", "test/bench/workload", "test/e2e"},
	"test/bench/live":             {"models", "test/bench/workload", "test/bench/machine", "test/bench/subject", "test/e2e"},
	"test/e2e":                    {"models", "simulator/mock", "test/e2e", "deployments/stack", "deployments/monitoring", "deployments/helm/autoscale"},
	"test/harness":                {"test/e2e"},
	"test/harness/chromium":       {"test/harness"},
	"test/harness/statstables":    {"models", "consumer/store", "consumer/eventlog", "reader/stats", "reader/stats/statstest"},
	"test/faults":                 {"models", "test/e2e", "deployments/stack"},
	"test/faults/control":         {"models", "configs", "consumer/rollup", "consumer/store", "consumer/cassandra"},
}

// forbidden are libraries that must stay where they belong, with the reason.
var forbidden = []struct{ library, only, reason string }{
	{"github.com/spf13/viper", "configs", "configs is the one place that knows viper"},
	{"github.com/gocql/gocql", "internal/cql migrations consumer/cassandra reader/cassandra producer/links/cassandra simulator/store deployments test", "the rollup knows no driver of a store"},
	{"modernc.org/sqlite", "embedded simulator/store test/e2e", "the rollup knows no driver of a store"},
	{"github.com/parquet-go", "reader/export/parquet reader/export/exporttest", "one process compiles in less time without"},
	{"github.com/twmb/franz-go", "embedded internal/kafka/dial/dialtest", "kfake is the embedded broker, and one of tests"},
	{"footfall/consumer", "consumer embedded test", "a producer depends on Kafka and links, not on consumers"},
	{"footfall/producer", "producer embedded", "a consumer depends on the topics, not on producers"},
	{"footfall/reader", "reader embedded test/harness/statstables", "producers and consumers do not depend on the reader"},
	{"footfall/embedded", "embedded", "embedded can be deleted without touching the core"},
}

func TestImportsPointOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := 0
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line)
		from, ok := strings.CutPrefix(fields[0], "footfall/")
		if !ok {
			continue
		}
		packages++
		folder, known := folderOf(from)
		if !known {
			t.Errorf("%s is not in the map of imports: add it, if it needs a folder of its own", from)
		}
		for _, imported := range fields[1:] {
			checkImport(t, from, folder, imported)
		}
	}
	if packages < 10 {
		t.Errorf("go list found %d packages only", packages)
	}
}

func checkImport(t *testing.T, from, folder, imported string) {
	t.Helper()
	for _, f := range forbidden {
		inside := slices.ContainsFunc(strings.Fields(f.only), func(only string) bool { return under(from, only) })
		if under(imported, f.library) && !inside {
			t.Errorf("%s imports %s: %s", from, imported, f.reason)
		}
	}
	ours, ok := strings.CutPrefix(imported, "footfall/")
	if !ok {
		if strings.Contains(strings.Split(imported, "/")[0], ".") && folder == "models" {
			t.Errorf("%s imports %s: models use the standard library only", from, imported)
		}
		return
	}
	to, _ := folderOf(ours)
	if to != folder && !slices.Contains(allowed[folder], to) {
		t.Errorf("%s imports %s: %s may import %q only", from, ours, folder, allowed[folder])
	}
}

// folderOf returns the longest prefix of a package's path that allowed lists.
func folderOf(path string) (string, bool) {
	for p := path; p != "."; {
		if _, ok := allowed[p]; ok {
			return p, true
		}
		i := strings.LastIndex(p, "/")
		if i < 0 {
			break
		}
		p = p[:i]
	}
	return path, false
}

func under(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
