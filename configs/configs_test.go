package configs

import (
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// clean removes what the machine's own environment would bring in.
func clean(t *testing.T) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, value, _ := strings.Cut(pair, "="); strings.HasPrefix(name, prefix+"_") {
			t.Setenv(name, value) // so that it is restored afterwards
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A second set of tables gets a group of its own, unless it is named.
func TestTheGroupFollowsTheTables(t *testing.T) {
	clean(t)
	f := func(yaml, want string) {
		t.Helper()
		if c, err := LoadConsumer(write(t, yaml)); err != nil || c.Kafka.Group != want {
			t.Errorf("%q: group %q, %v; want %q", yaml, c.Kafka.Group, err, want)
		}
	}
	f("", "footfall")
	f("cassandra: {keyspace_suffix: _v2}", "footfall_v2")
	f("cassandra: {keyspace_suffix: _v2}\nkafka: {group: mine}", "mine")
}

func TestDefaults(t *testing.T) {
	clean(t)
	p, err := LoadProducer("")
	if err != nil {
		t.Fatal(err)
	}
	if p.HTTP.Addr != "127.0.0.1:8080" || p.HTTP.AdminAddr != "127.0.0.1:8083" || !slices.Equal(p.Kafka.Brokers, []string{"127.0.0.1:9092"}) ||
		p.Kafka.Topics != (Topics{"clicks", "visits", "dead-letters"}) || p.Kafka.CreateTopics || p.Kafka.Timeout != 5*time.Second ||
		p.HTTP.MaxBody != 64<<10 || p.Log.Level != slog.LevelInfo {
		t.Errorf("producer: %+v", p)
	}
	c, err := LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	if c.HTTP.Addr != "127.0.0.1:8081" || c.Kafka.Topics != p.Kafka.Topics || !slices.Equal(c.Kafka.Brokers, p.Kafka.Brokers) ||
		!slices.Equal(c.Cassandra.Hosts, []string{"127.0.0.1"}) || c.Cassandra.Port != 9042 || c.Duplicates.Window != 100_000 {
		t.Errorf("consumer: %+v; it must fit the producer", c)
	}
	if two := []string{"feature1", "feature2"}; !slices.Equal(c.Features, two) || !slices.Equal(p.Features, two) || !slices.Contains(c.Metrics, "hour_views") {
		t.Errorf("features %q and %q, metrics %q: the default is what the sources have", p.Features, c.Features, c.Metrics)
	}
	e, err := LoadEmbedded("")
	if err != nil {
		t.Fatal(err)
	}
	if p.Access.Open || len(p.Access.Sites) > 0 || len(p.HTTP.TrustedProxies) > 0 || p.HTTP.BatchEvents != 1000 || p.HTTP.BatchBytes != 1<<20 ||
		p.Time != (Time{MaxAhead: 5 * time.Minute, PageMaxAge: 48 * time.Hour}) || p.Privacy.IP != "raw" || p.Links.Enabled || p.Kafka.TLS.Enabled ||
		p.Cassandra.Port != c.Cassandra.Port || !slices.Equal(p.Cassandra.Hosts, c.Cassandra.Hosts) {
		t.Errorf("producer: %+v; closed unless opened", p)
	}
	if !e.Access.Open || !e.Links.Enabled || e.HTTP.Addr != "127.0.0.1:8080" || e.HTTP.AdminAddr != "127.0.0.1:8083" || e.HTTP.ReaderAddr != "127.0.0.1:8082" || e.Data.Dir != "data" || e.Data.LogBytes != 128<<20 || e.Data.LogAge != 7*24*time.Hour || e.Log.Level != slog.LevelWarn {
		t.Errorf("embedded: %+v", e)
	}
}

func TestEnvironment(t *testing.T) {
	clean(t)
	for name, value := range map[string]string{
		"FOOTFALL_HTTP_ADDR":           "0.0.0.0:80",
		"FOOTFALL_HTTP_MAX_IN_FLIGHT":  "7",
		"FOOTFALL_KAFKA_BROKERS":       "a:1, b:2,c:3",
		"FOOTFALL_KAFKA_TOPICS_CLICKS": "other",
		"FOOTFALL_KAFKA_CREATE_TOPICS": "true",
		"FOOTFALL_KAFKA_TIMEOUT":       "1m30s",
		"FOOTFALL_CASSANDRA_HOSTS":     "127.0.0.1",
		"FOOTFALL_CHUNK_MAX_AGE":       "250ms",
		"FOOTFALL_LOG_LEVEL":           "warn",
		"FOOTFALL_FEATURES":            "referrer, page,device",
		"FOOTFALL_TEST_ANYTHING":       "is for tests",
	} {
		t.Setenv(name, value)
	}
	// a file comes before the environment and after the defaults
	p, err := LoadProducer(write(t, "kafka:\n  timeout: 1s\n  partitions: 12\nhttp:\n  max_body: 10\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p.HTTP.Addr != "0.0.0.0:80" || p.HTTP.MaxInFlight != 7 || p.HTTP.MaxBody != 10 || p.Kafka.Partitions != 12 ||
		!slices.Equal(p.Kafka.Brokers, []string{"a:1", "b:2", "c:3"}) || p.Kafka.Topics != (Topics{"other", "visits", "dead-letters"}) ||
		!p.Kafka.CreateTopics || p.Kafka.Timeout != 90*time.Second || p.Log.Level != slog.LevelWarn {
		t.Errorf("producer: %+v", p)
	}
	c, err := LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	if three := []string{"referrer", "page", "device"}; !slices.Equal(c.Features, three) || !slices.Equal(p.Features, three) {
		t.Errorf("features %q and %q", p.Features, c.Features)
	}
	if !slices.Equal(c.Cassandra.Hosts, []string{"127.0.0.1"}) || c.Chunk.MaxAge != 250*time.Millisecond || c.Kafka.Topics.Clicks != "other" {
		t.Errorf("consumer: %+v", c)
	}
}

// TestAnEmptyVariableIsAValue: of a text or a list. A number, a switch or a duration has no empty value.
func TestAnEmptyVariableIsAValue(t *testing.T) {
	clean(t)
	for _, name := range []string{"HTTP_ADMIN_ADDR", "HTTP_READER_ADDR", "HTTP_TRUSTED_PROXIES", "ACCESS_SITES", "ACCESS_READERS", "METRICS"} {
		t.Setenv("FOOTFALL_"+name, "")
	}
	p, err := LoadProducer(write(t, "http:\n  trusted_proxies: [10.0.0.0/8]\naccess:\n  sites: [{site: shop}]\n"))
	if err != nil || p.HTTP.AdminAddr != "" || len(p.HTTP.TrustedProxies) > 0 || len(p.Access.Sites) > 0 {
		t.Errorf("producer: %+v %+v, %v", p.HTTP, p.Access, err)
	}
	if c, err := LoadConsumer(""); err != nil || len(c.Metrics) > 0 {
		t.Errorf("metrics %q, %v", c.Metrics, err)
	}
	if e, err := LoadEmbedded(""); err != nil || e.HTTP.AdminAddr != "" || e.HTTP.ReaderAddr != "" {
		t.Errorf("embedded: %+v, %v", e.HTTP, err)
	}
	for _, name := range []string{"HTTP_MAX_IN_FLIGHT", "LIMITS_CLIENT_PER_SECOND", "ACCESS_OPEN", "KAFKA_TIMEOUT", "LOG_LEVEL"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("FOOTFALL_"+name, "")
			if _, err := LoadProducer(""); err == nil || !strings.Contains(err.Error(), "FOOTFALL_"+name+" is set but empty") {
				t.Errorf("%v, want that it is empty", err)
			}
		})
	}
}

func TestListsInAFile(t *testing.T) {
	clean(t)
	for text, want := range map[string][]string{
		"kafka:\n  brokers: [a:1, b:2]\n":          {"a:1", "b:2"},
		"kafka:\n  brokers:\n  - a:1\n  - b:2\n":   {"a:1", "b:2"},
		"kafka:\n  brokers: a:1,b:2\n":             {"a:1", "b:2"},
		"KAFKA:\n  Brokers: [\"only-one:9092\"]\n": {"only-one:9092"},
	} {
		if p, err := LoadProducer(write(t, text)); err != nil || !slices.Equal(p.Kafka.Brokers, want) {
			t.Errorf("%q: %v, %v", text, p.Kafka.Brokers, err)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	clean(t)
	f := func(env, value, file, want string) {
		t.Helper()
		t.Run(env+file, func(t *testing.T) {
			if env != "" {
				t.Setenv(env, value)
			}
			if file != "" {
				file = write(t, file)
			}
			_, err := LoadProducer(file)
			if err == nil || strings.ReplaceAll(err.Error(), file, "FILE") != want && !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
	f("FOOTFALL_HTTP_ADRR", "x", "", "FOOTFALL_HTTP_ADRR")
	f("FOOTFALL_KAFKA", "x", "", "FOOTFALL_KAFKA")
	f("FOOTFALL_KAFKA_TIMEOUT", "5", "", `FOOTFALL_KAFKA_TIMEOUT is "5": want a number with a unit, such as 500ms, 30s or 24h`)
	f("FOOTFALL_KAFKA_PARTITIONS", "six", "", `FOOTFALL_KAFKA_PARTITIONS is "six": want a number`)
	f("FOOTFALL_ACCESS_OPEN", "yes", "", `FOOTFALL_ACCESS_OPEN is "yes": want true or false`)
	f("FOOTFALL_LOG_LEVEL", "loud", "", `FOOTFALL_LOG_LEVEL is "loud": want debug, info, warn or error`)
	f("FOOTFALL_ACCESS_SITES", "shop", "", "FOOTFALL_ACCESS_SITES is no list in JSON, such as")
	f("", "", "http:\n  adrr: x\n", "FILE: http has unknown keys: adrr (configs/*.yaml list every key)")
	f("FOOTFALL_HTTP_ADMIN_ADDR", "8083", "", "http.admin_addr")
	f("", "", "chunk:\n  max_age: 1s\n", "FILE has unknown keys: chunk (configs/*.yaml list every key)") // a key of another binary
	f("", "", "kafka:\n  timeout: 5\n", `kafka.timeout in FILE is "5": want a number with a unit, such as 500ms, 30s or 24h`)
	f("", "", "kafka:\n  topics:\n    clicks: [a, b]\n", "kafka.topics.clicks in FILE: want a text")
	f("", "", "access:\n  open: maybe\n", `access.open in FILE is "maybe": want true or false`)
	f("", "", "http: [\n", "reading configuration")
	if _, err := LoadProducer(filepath.Join(t.TempDir(), "none.yaml")); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestKnown(t *testing.T) {
	for _, yes := range []string{"FOOTFALL_HTTP_ADDR", "FOOTFALL_KAFKA_BROKERS", "FOOTFALL_CASSANDRA_HOSTS", "FOOTFALL_CASSANDRA_PORT", "FOOTFALL_DATA_DIR", "FOOTFALL_KAFKA_TOPICS_DEAD"} {
		if !Known(yes) {
			t.Errorf("%s is not known", yes)
		}
	}
	for _, no := range []string{"", "HTTP_ADDR", "FOOTFALL_", "FOOTFALL_HTTP", "FOOTFALL_HTTP_PORT", "footfall_http_addr", "FOOTFALL_HTTP.ADDR"} {
		if Known(no) {
			t.Errorf("%s is known", no)
		}
	}
}

// keys lists the keys of a configuration struct as viper writes them.
func keys(t reflect.Type, prefix string) []string {
	var all []string
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("mapstructure")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		if name == "-" { // not from files
			continue
		}
		if f.Anonymous { // ",squash": its keys stand beside the others
			all = append(all, keys(f.Type, prefix)...)
		} else if f.Type.Kind() == reflect.Struct {
			all = append(all, keys(f.Type, prefix+name+".")...)
		} else {
			all = append(all, prefix+name)
		}
	}
	return all
}

var binaries = map[string]struct {
	yaml []byte
	into reflect.Type
}{
	"producer": {producerYAML, reflect.TypeFor[Producer]()},
	"consumer": {consumerYAML, reflect.TypeFor[Consumer]()},
	"reader":   {readerYAML, reflect.TypeFor[Reader]()},
	"embedded": {embeddedYAML, reflect.TypeFor[Embedded]()},
}

// TestEveryKeyHasAFieldAndEveryFieldAKey: a key that nobody reads is a lie, a field without one cannot be set.
func TestEveryKeyHasAFieldAndEveryFieldAKey(t *testing.T) {
	for name, b := range binaries {
		v, err := parse(b.yaml)
		if err != nil {
			t.Fatal(err)
		}
		inFile, inCode := slices.Sorted(slices.Values(v.AllKeys())), slices.Sorted(slices.Values(keys(b.into, "")))
		if !slices.Equal(inFile, inCode) {
			t.Errorf("%s\n in the file: %v\n in the code: %v", name, inFile, inCode)
		}
		for _, key := range inCode {
			if env := prefix + "_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_")); !Known(env) {
				t.Errorf("%s: %s is not known", name, env)
			}
		}
	}
}

// TestEveryKeyIsCommented: the line above a key is a comment.
func TestEveryKeyIsCommented(t *testing.T) {
	for name, b := range binaries {
		above := ""
		for n, line := range strings.Split(string(b.yaml), "\n") {
			line = strings.TrimSpace(line)
			_, value, isKey := strings.Cut(line, ": ")
			if isKey && value != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(above, "# ") {
				t.Errorf("%s.yaml:%d: no comment above %s", name, n+1, line)
			}
			above = line
		}
	}
}
