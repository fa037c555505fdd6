package check

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/strvals"
	"sigs.k8s.io/yaml"
)

// Wrong values are refused before anything is installed, with a message that names the value.
func TestBadValuesAreRefused(t *testing.T) {
	f := func(set string, names ...string) {
		t.Helper()
		values, err := strvals.Parse(set)
		if err != nil {
			t.Fatal(err)
		}
		_, err = Render(chartFolder, values, "footfall", "counting")
		if err == nil {
			t.Errorf("%s is accepted", set)
			return
		}
		for _, name := range names {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: the message does not name %s: %v", set, name, err)
			}
		}
	}
	// unknown keys, at every depth
	f("consumers.replicas=3", "consumers")
	f("consumer.replica=3", "/consumer", "'replica'")
	f("consumer.resources.limits.disk=1Gi", "/consumer/resources/limits", "'disk'")
	f("config.consumer.chunk.max_event=10", "/config/consumer/chunk", "'max_event'")
	f("config.reader.kafka.topics.clicks=x", "/config/reader", "'kafka'")
	// what the chart decides, and what belongs into a Secret
	f("config.consumer.http.addr=:9999", "/config/consumer/http", "'addr'")
	f("config.producer.kafka.brokers[0]=other:9092", "/config/producer/kafka", "'brokers'")
	f("config.kafka.sasl.password=x", "/config/kafka/sasl", "'password'")
	f("config.producer.privacy.secret=x", "/config/producer/privacy", "'secret'")
	f("secret.values.PASSWORD=x", "/secret/values", "'PASSWORD'")
	// wrong types and sizes
	f("consumer.replicas=0", "/consumer/replicas")
	f("consumer.replicas=two", "/consumer/replicas")
	f("consumer.terminationGracePeriodSeconds=30", "/consumer/terminationGracePeriodSeconds")
	f("consumer.resources.limits.memory=lots", "/consumer/resources/limits/memory")
	f("consumer.strategy=OnDelete", "/consumer/strategy")
	f("migrate.activeDeadlineSeconds=120", "/migrate/activeDeadlineSeconds")
	f("partitions=0", "/partitions")
	f("config.kafka.brokers=null", "config")
	f("config.kafka.brokers[0]=kafka", "/config/kafka/brokers/0")
	f("config.cassandra.port=90420", "/config/cassandra/port")
	f("config.features[0]=a,config.features[1]=a", "/config/features")
	f("config.consumer.chunk.max_age=5", "/config/consumer/chunk/max_age")
	f("config.consumer.metrics[0]=year_unique", "/config/consumer/metrics/0")
	f("config.consumer.cassandra.replication=3", "/config/consumer/cassandra/replication")
	f("config.producer.privacy.ip=secret", "/config/producer/privacy/ip")
	f("config.producer.access.sites[0].site=shop", "/config/producer/access/sites/0", "key_hashes")
	f("config.producer.access.sites[0].key_hashes[0]=abc", "/config/producer/access/sites/0/key_hashes/0")
	f("secret.values.FOOTFALL_PRIVACY_SECRET=short", "/secret/values/FOOTFALL_PRIVACY_SECRET")
	f("tls.kafka.client=true", "/tls/kafka/secret")
	f("autoscaling.minReplicas=0", "/autoscaling/minReplicas")
	f("autoscaling.downAfterSeconds=5", "/autoscaling/downAfterSeconds")
	f("fullnameOverride=stats", "/fullnameOverride")
	f("producer.env[0].name=lower", "/producer/env/0/name")
	f("networkPolicy.metricsFrom[0].namespace=x", "/networkPolicy/metricsFrom/0", "'namespace'")
	// what a schema cannot say, the templates do
	f("autoscaling.enabled=true,autoscaling.maxReplicas=13", "autoscaling.maxReplicas is 13", "12 partitions")
	f("autoscaling.enabled=true,autoscaling.minReplicas=5,autoscaling.maxReplicas=4", "autoscaling.minReplicas is 5")
	f("consumer.replicas=13", "consumer.replicas is 13")
	f("config.consumer.kafka.session_timeout=2m", "consumer.terminationGracePeriodSeconds is 75", "120 s")
	f("config.cassandra.username=footfall", "FOOTFALL_CASSANDRA_PASSWORD")
	f("config.kafka.sasl.mechanism=plain,config.kafka.sasl.username=u,migrate.enabled=false", "FOOTFALL_KAFKA_SASL_PASSWORD")
	// a Secret of values that lacks some: each is named, with who needs it
	const logins = "config.cassandra.username=u,config.kafka.sasl.mechanism=plain,config.kafka.sasl.username=u,config.producer.privacy.ip=hashed,"
	f(logins+"secret.values.FOOTFALL_CASSANDRA_PASSWORD=x", "FOOTFALL_KAFKA_SASL_PASSWORD (producer, consumer)", "FOOTFALL_PRIVACY_SECRET (producer)")
	f(logins+"secret.values.FOOTFALL_KAFKA_SASL_PASSWORD=x", "FOOTFALL_CASSANDRA_PASSWORD (consumer, reader, migrate)", "FOOTFALL_PRIVACY_SECRET (producer)")
	f("config.cassandra.username=u,migrate.enabled=false,reader.enabled=false,secret.values.FOOTFALL_KAFKA_SASL_PASSWORD=x", "FOOTFALL_CASSANDRA_PASSWORD (consumer)")
	f("secret.name=a,secret.values.FOOTFALL_KAFKA_SASL_PASSWORD=x", "secret.name and secret.values")
}

// elsewhere are keys of configs/*.yaml that values have in another place, or not at all.
var elsewhere = map[string][]string{
	"producer": {"http.addr", "http.admin_addr", "http.tls", "kafka.brokers", "kafka.topics", "kafka.tls", "kafka.sasl", "kafka.partitions", "features",
		"log", "cassandra", "privacy.secret", "enrichment.maxmind_file"}, // no volume has such a file
	"consumer": {"http.addr", "kafka.brokers", "kafka.topics", "kafka.tls", "kafka.sasl", "features", "log", "cassandra.hosts", "cassandra.port",
		"cassandra.local_dc", "cassandra.username", "cassandra.password", "cassandra.tls", "cassandra.keyspace_suffix", "cassandra.timeout"},
	"reader": {"http.addr", "http.admin_addr", "http.tls", "kafka", "log", "access.share_secrets", "cassandra.hosts", "cassandra.port", "cassandra.local_dc",
		"cassandra.username", "cassandra.password", "cassandra.tls", "cassandra.keyspace_suffix", "cassandra.timeout"},
}

// The schema has every key of the configurations, and no other. A new key goes into values.schema.json, or into the list above.
func TestSchemaHasTheKeysOfTheConfigurations(t *testing.T) {
	var schema struct {
		Defs map[string]any `json:"$defs"`
	}
	text, err := os.ReadFile(filepath.Join(chartFolder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	for of, left := range elsewhere {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "configs", of+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var config map[string]any
		if err := yaml.Unmarshal(text, &config); err != nil {
			t.Fatal(err)
		}
		want, got := map[string]bool{}, map[string]bool{}
		leaves(config, "", want, func(v any) map[string]any { m, _ := v.(map[string]any); return m })
		leaves(schema.Defs[of], "", got, func(v any) map[string]any { m, _ := dig(v, "properties").(map[string]any); return m })
		for key := range maps.Clone(want) {
			if slices.ContainsFunc(left, func(l string) bool { return key == l || strings.HasPrefix(key, l+".") }) {
				delete(want, key)
			}
		}
		for key := range want {
			if !got[key] {
				t.Errorf("configs/%s.yaml has %s, values.schema.json does not", of, key)
			}
		}
		for key := range got {
			if !want[key] {
				t.Errorf("values.schema.json has %s, configs/%s.yaml does not", key, of)
			}
		}
		if len(got) < 5 {
			t.Errorf("found %d keys of %s only", len(got), of)
		}
	}
}

// leaves collects the paths of what has no keys below it.
func leaves(v any, path string, into map[string]bool, keys func(any) map[string]any) {
	below := keys(v)
	if len(below) == 0 {
		into[path] = true
	}
	for key, v := range below {
		leaves(v, strings.TrimPrefix(path+"."+key, "."), into, keys)
	}
}
