// Package configs loads the configuration of every binary: commented defaults in yaml, a file of the operator's, the
// environment. It is the one place that knows viper.
package configs

import (
	"bytes"
	_ "embed" // the defaults are part of the binary
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"
)

// Producer configures the producer; producer.yaml documents every key.
type Producer struct {
	HTTP struct {
		Addr           string
		AdminAddr      string `mapstructure:"admin_addr"`
		Pprof          bool
		MaxInFlight    int   `mapstructure:"max_in_flight"`
		MaxBody        int64 `mapstructure:"max_body"`
		BatchEvents    int   `mapstructure:"batch_events"`
		BatchBytes     int64 `mapstructure:"batch_bytes"`
		BodyBytes      int64 `mapstructure:"body_bytes"`
		Connections    int
		PerNetwork     int      `mapstructure:"connections_per_network"`
		TrustedProxies []string `mapstructure:"trusted_proxies"`
		TLS            ServerTLS
	}
	Kafka struct {
		KafkaClient       `mapstructure:",squash"`
		Topics            Topics
		CreateTopics      bool `mapstructure:"create_topics"`
		Partitions        int
		ReplicationFactor int `mapstructure:"replication_factor"`
		Timeout           time.Duration
	}
	Features   []string
	Access     Access
	Limits     Limits
	Time       Time
	Enrichment Enrichment
	Privacy    Privacy
	Links      Links
	Cassandra  CassandraClient
	Log        Log
}

// Consumer configures a consumer; consumer.yaml documents every key.
type Consumer struct {
	HTTP struct {
		Addr  string
		Pprof bool
	}
	Kafka struct {
		KafkaClient    `mapstructure:",squash"`
		Topics         Topics
		Group          string
		SessionTimeout time.Duration `mapstructure:"session_timeout"`
	}
	Features []string
	Metrics  []string
	Chunk    struct {
		MaxEvents int           `mapstructure:"max_events"`
		MaxBytes  int           `mapstructure:"max_bytes"`
		MaxAge    time.Duration `mapstructure:"max_age"`
	}
	Latest     Latest
	Duplicates struct {
		Window int
		Age    time.Duration
	}
	Visitors struct {
		LRU   int
		IPTTL time.Duration `mapstructure:"ip_ttl"`
	}
	Ledger    struct{ Cache int }
	Cassandra Cassandra
	Log       Log
}

// Embedded configures the one-process default; embedded.yaml documents every key.
type Embedded struct {
	HTTP struct {
		Addr       string
		AdminAddr  string `mapstructure:"admin_addr"`
		Pprof      bool
		ReaderAddr string `mapstructure:"reader_addr"`
	}
	Data struct {
		Dir      string
		LogBytes int64         `mapstructure:"log_bytes"`
		LogAge   time.Duration `mapstructure:"log_age"`
	}
	Access struct{ Open bool }
	Links  struct{ Enabled bool }
	Log    Log
}

// Latest says whether the latest clicks are kept, and how long after the click.
type Latest struct {
	Enabled bool
	TTL     time.Duration
}

// Topics names the Kafka topics. Producer and consumers must agree on them.
type Topics struct{ Clicks, Visits, Dead string }

// Log configures logging.
type Log struct{ Level slog.Level }

//go:embed producer.yaml
var producerYAML []byte

//go:embed consumer.yaml
var consumerYAML []byte

//go:embed embedded.yaml
var embeddedYAML []byte

// LoadProducer reads the defaults, then file (none if empty), then the environment. Its errors are *Wrong.
func LoadProducer(file string) (c Producer, err error) { return c, load(producerYAML, file, &c) }

// LoadConsumer reads the defaults, then file (none if empty), then the environment. Its errors are *Wrong.
func LoadConsumer(file string) (c Consumer, err error) {
	if err = load(consumerYAML, file, &c); c.Kafka.Group == "" {
		c.Kafka.Group = defaultGroup + c.Cassandra.KeyspaceSuffix
	}
	return c, err
}

// LoadOther reads the defaults and file, for a command that works on a second Cassandra. It does not read the environment, which has the settings
// of the one in use. Its errors are *Wrong.
func LoadOther(file string) (c Consumer, err error) {
	v, err := parse(consumerYAML)
	if err == nil {
		err = merge(v, file, &c)
	}
	return c, MarkWrong(err)
}

// defaultGroup is the consumer group of the tables without a suffix. Others have groups of their own: two sets of tables that share one
// would have a part of the events each.
const defaultGroup = "footfall"

// LoadEmbedded reads the defaults, then file (none if empty), then the environment. Its errors are *Wrong.
func LoadEmbedded(file string) (c Embedded, err error) {
	switch err = load(embeddedYAML, file, &c); {
	case err != nil:
	case c.Data.Dir == "":
		err = MarkWrong(errors.New("data.dir is empty: want a directory"))
	case c.Data.LogBytes < 0 || c.Data.LogAge < 0:
		err = MarkWrong(fmt.Errorf("data.log_bytes is %d and data.log_age %v: want 0 (no bound) or more", c.Data.LogBytes, c.Data.LogAge))
	}
	return c, err
}

const prefix = "FOOTFALL"

func load(defaults []byte, file string, into any) error { return MarkWrong(read(defaults, file, into)) }

func read(defaults []byte, file string, into any) error {
	v, err := parse(defaults)
	if err != nil {
		return err
	}
	v.SetEnvPrefix(prefix)
	v.SetEnvKeyReplacer(strings.NewReplacer(".", "_"))
	v.AutomaticEnv()
	v.AllowEmptyEnv(true) // empty is a value: http.admin_addr has it for nowhere
	if unknown := unknownVariables(os.Environ()); len(unknown) > 0 {
		return fmt.Errorf("unknown configuration in the environment: %s (configs/*.yaml list every key)", strings.Join(unknown, ", "))
	}
	return merge(v, file, into)
}

// merge adds what file says (none if empty), decodes all and checks the addresses.
func merge(v *viper.Viper, file string, into any) error {
	if file != "" {
		v.SetConfigFile(file)
		if err := v.MergeInConfig(); err != nil {
			return fmt.Errorf("reading configuration: %w", err)
		}
	}
	if err := v.UnmarshalExact(into, viper.DecodeHook(hook())); err != nil {
		return explain(file, err)
	}
	for _, key := range []string{"http.admin_addr", "http.reader_addr", "http.addr"} {
		if addr := v.GetString(key); addr != "" || key == "http.addr" { // the others may be nowhere
			if err := checkAddr(key, addr); err != nil {
				return err
			}
		}
	}
	return nil
}

func parse(yaml []byte) (*viper.Viper, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(yaml)); err != nil {
		return nil, fmt.Errorf("parsing the built-in configuration: %w", err)
	}
	return v, nil
}

// Known tells whether the environment variable env is a key of some binary's configuration.
func Known(env string) bool {
	for _, yaml := range [][]byte{producerYAML, consumerYAML, readerYAML, embeddedYAML} {
		v, err := parse(yaml)
		if err != nil {
			return false
		}
		for _, key := range v.AllKeys() {
			if env == Variable(key) {
				return true
			}
		}
	}
	return false
}

// unknownVariables finds misspelt keys. A key of the other binary is fine: a shell often serves both. FOOTFALL_TEST_ is
// for tests.
func unknownVariables(environ []string) []string {
	var unknown []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, prefix+"_") && !strings.HasPrefix(name, prefix+"_TEST_") && !Known(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}
