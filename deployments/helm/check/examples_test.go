package check

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/eventlog/kept"
	"footfall/models"
)

// example reads a file of examples/.
func example(t *testing.T, name string) []Object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartFolder, "examples", name))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := split(name, string(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// defaults are the chart's values.
func defaults(t *testing.T) (v struct {
	Partitions int
	Config     struct {
		Kafka     struct{ Topics map[string]string }
		Cassandra struct {
			Hosts   []string
			LocalDC string `json:"local_dc"`
		}
	}
}) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chartFolder, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The topics are those of the chart, and the code that refuses topics finds nothing.
func TestStrimziTopics(t *testing.T) {
	v := defaults(t)
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string]bool{}
	for _, name := range v.Config.Kafka.Topics {
		wanted[name] = true
	}
	for _, o := range example(t, "strimzi-topics.yaml") {
		topic := decode[topic](t, o)
		settings := map[string]string{}
		for key, value := range topic.Spec.Config {
			text, err := yaml.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			settings[key] = string(text[:len(text)-1])
		}
		problems, err := kept.Judge(o.Name, settings, cfg.Duplicates.Age+kept.RepairTime, cfg.Visitors.IPTTL)
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v, %v", o.Name, problems, err)
		}
		insync, err := strconv.Atoi(settings["min.insync.replicas"])
		if err != nil || insync < 2 || insync >= int(topic.Spec.Replicas) {
			t.Errorf("%s: %d replicas, of which %d must be in sync (%v)", o.Name, topic.Spec.Replicas, insync, err)
		}
		if settings[kept.CleanupPolicy] != "delete" || settings["unclean.leader.election.enable"] != "false" || topic.Spec.Partitions != v.Partitions {
			t.Errorf("%s: %+v", o.Name, topic.Spec)
		}
		if ms, _, err := kept.Retention(o.Name, settings); err != nil || ms < (7*24*time.Hour).Milliseconds() {
			t.Errorf("%s: retention %d ms, %v", o.Name, ms, err)
		}
		delete(wanted, o.Name)
	}
	if len(wanted) > 0 {
		t.Errorf("no example for %v", sorted(wanted))
	}
}

// Cassandra is durable, is where the chart looks for it, and has no guardrail that refuses what footfall sends.
func TestK8ssandra(t *testing.T) {
	v := defaults(t)
	o := find(t, example(t, "k8ssandra.yaml"), "K8ssandraCluster")
	cluster := *decode[map[string]any](t, o)
	settings, _ := dig(cluster, "spec", "cassandra", "config", "cassandraYaml").(map[string]any)
	text, err := os.ReadFile("../../compose/cassandra.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var ours map[string]any
	if err := yaml.Unmarshal(text, &ours); err != nil {
		t.Fatal(err)
	}
	for key, value := range ours {
		if key == "counter_cache_size" {
			continue // by the heap
		}
		want, _ := yaml.Marshal(value)
		got, _ := yaml.Marshal(settings[key])
		if string(got) != string(want) {
			t.Errorf("%s: %s, the compose file has %s", key, got, want)
		}
	}
	for key, least := range map[string]float64{
		"partition_keys_in_select_fail_threshold": cassandra.MostPartitionsAsked, "in_select_cartesian_product_fail_threshold": cassandra.MostRowsAsked,
		"items_per_collection_fail_threshold": 2 + models.MaxFeatures,
	} {
		if limit, ok := settings[key].(float64); !ok || (limit >= 0 && limit < least) {
			t.Errorf("%s is %v, footfall needs %g", key, settings[key], least)
		}
	}
	for key, used := range map[string][]string{"read_consistency_levels_disallowed": {"LOCAL_QUORUM", "LOCAL_SERIAL", "ALL"}, "write_consistency_levels_disallowed": {"LOCAL_QUORUM", "LOCAL_SERIAL"}} {
		levels, _ := settings[key].([]any)
		for _, level := range used {
			if slices.Contains(levels, any(level)) {
				t.Errorf("%s has %s", key, level)
			}
		}
	}
	if settings["user_timestamps_enabled"] != true {
		t.Error("timestamps of clients are refused")
	}
	centres, _ := dig(cluster, "spec", "cassandra", "datacenters").([]any)
	if len(centres) != 1 || dig(centres[0], "metadata", "name") != v.Config.Cassandra.LocalDC ||
		!slices.Equal(v.Config.Cassandra.Hosts, []string{o.Name + "-" + v.Config.Cassandra.LocalDC + "-service"}) {
		t.Errorf("the chart looks for %s in %s", v.Config.Cassandra.Hosts, v.Config.Cassandra.LocalDC)
	}
}

// block is the indented block of docs/kubernetes.md that begins with a line, without its indent.
func block(t *testing.T, first string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "\n"+first)
	indent := len(first) - len(strings.TrimLeft(first, " "))
	if !found || indent < 4 {
		t.Fatalf("docs/kubernetes.md has no block that begins with %q", first)
	}
	var out strings.Builder
	for line := range strings.Lines(first + rest) {
		if !strings.HasPrefix(line, first[:indent]) {
			break
		}
		out.WriteString(line[indent:])
	}
	return out.String()
}

// Whoever follows docs/kubernetes.md with the example's Cassandra can log in, with the chart and with the plain manifests.
func TestDocumentedLogin(t *testing.T) {
	cluster := *decode[map[string]any](t, find(t, example(t, "k8ssandra.yaml"), "K8ssandraCluster"))
	auth := dig(cluster, "spec", "auth") == true

	var values map[string]any
	filled := strings.NewReplacer("REGISTRY", "registry.example", "[...]", `["`+strings.Repeat("0f", 32)+`"]`).Replace(block(t, "       image:"))
	if err := yaml.UnmarshalStrict([]byte(filled), &values); err != nil {
		t.Fatal(err)
	}
	r := renderValues(t, values)
	user, _ := dig(values, "config", "cassandra", "username").(string)
	secret, _ := dig(values, "secret", "name").(string)
	if (user != "") != auth || (secret != "") != auth {
		t.Fatalf("the example's Cassandra wants a login: %t; the documented values have user %q and Secret %q", auth, user, secret)
	}
	if hosts := defaults(t).Config.Cassandra.Hosts; !slices.Equal(r.config(t, "migrate").Cassandra.Hosts, hosts) {
		t.Errorf("the documented values do not look for %s", hosts)
	}
	if !auth {
		return
	}
	const password = "FOOTFALL_CASSANDRA_PASSWORD"
	if line := "kubectl -n footfall create secret generic " + secret + " --from-literal=" + password + "="; !strings.Contains(block(t, "       kubectl -n footfall create secret"), line) {
		t.Errorf("docs/kubernetes.md does not say %s", line)
	}

	// The permissions are those with which a test of the product runs on a real Cassandra.
	tested, err := os.ReadFile("../../../test/e2e/secure_test.go")
	if err != nil {
		t.Fatal(err)
	}
	statements := regexp.MustCompile(`"((?:CREATE ROLE|GRANT .* TO) )" \+ login`).FindAllStringSubmatch(string(tested), -1)
	if len(statements) < 3 {
		t.Fatalf("statements of the test: %q", statements)
	}
	cql := block(t, "       CREATE ROLE")
	for _, s := range statements {
		if !strings.Contains(cql, s[1]+user) {
			t.Errorf("docs/kubernetes.md does not say %s", s[1]+user)
		}
	}

	var plain struct{ Env []corev1.EnvVar }
	if err := yaml.UnmarshalStrict([]byte(block(t, "    env:")), &plain); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "consumer.yaml")
	if err := os.WriteFile(file, []byte(render(t, "defaults").configs["footfall-consumer"].Data["consumer.yaml"]), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, e := range plain.Env {
		value := e.Value
		if from := e.ValueFrom; from != nil && from.SecretKeyRef.Name == secret && from.SecretKeyRef.Key == password {
			value = "of the Secret"
		}
		t.Setenv(e.Name, value)
	}
	if c, err := configs.LoadConsumer(file); err != nil || c.Cassandra.Username != user || c.Cassandra.Password != "of the Secret" {
		t.Errorf("a consumer of the plain manifests logs in as %q: %v", c.Cassandra.Username, err)
	}
}
