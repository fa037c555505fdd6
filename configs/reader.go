package configs

import (
	_ "embed" // the defaults are part of the binary
	"errors"
	"fmt"
	"time"
)

// Reader configures the reader; reader.yaml documents every key.
type Reader struct {
	HTTP struct {
		Addr          string
		AdminAddr     string `mapstructure:"admin_addr"`
		Pprof         bool
		MaxInFlight   int `mapstructure:"max_in_flight"`
		Timeout       time.Duration
		StreamTimeout time.Duration `mapstructure:"stream_timeout"`
		Origins       []string
		Hosts         []string
		TLS           ServerTLS
	}
	Access ReadAccess
	Kafka  struct {
		Topics struct{ Clicks, Visits string }
	}
	Limits    ReadLimits
	Cassandra ReadCassandra
	Log       Log
}

// ReadAccess says who may read. Its keys are not those of Access: a process may have both in one environment, and a key that may
// write, which pages have, must not read.
type ReadAccess struct {
	Open         bool // anyone may
	Readers      []ReadGrant
	ShareSecrets []string      `mapstructure:"share_secrets"`
	ShareRevoked []string      `mapstructure:"share_revoked"`
	ShareLongest time.Duration `mapstructure:"share_longest"`
}

// ReadGrant is what the holder of one of the keys may read. Patterns are names, or the beginning of names and a *.
type ReadGrant struct {
	Site      string   `json:"site"`                                 // whose visits; none if empty
	Links     string   `json:"links"`                                // whose clicks, by short_url; none if empty
	KeyHashes []string `json:"key_hashes" mapstructure:"key_hashes"` // SHA-256 of the keys, in hex
}

// ReadLimits says how much one request may read.
type ReadLimits struct{ Points int }

// ReadCassandra says also how sure an answer must be.
type ReadCassandra struct {
	CassandraClient `mapstructure:",squash"`
	Consistency     string // local_one or local_quorum
}

//go:embed reader.yaml
var readerYAML []byte

// LoadReader reads the defaults, then file (none if empty), then the environment. Its errors are *Wrong.
func LoadReader(file string) (c Reader, err error) {
	if err = load(readerYAML, file, &c); err == nil {
		err = MarkWrong(c.check())
	}
	return c, err
}

func (c Reader) check() error {
	switch {
	case c.HTTP.MaxInFlight < 1 || c.Limits.Points < 1:
		return fmt.Errorf("http.max_in_flight is %d and limits.points %d: want 1 or more", c.HTTP.MaxInFlight, c.Limits.Points)
	case c.Kafka.Topics.Clicks == "" || c.Kafka.Topics.Visits == "":
		return errors.New("kafka.topics: clicks and visits need a name each")
	case c.HTTP.Timeout <= 0 || c.HTTP.StreamTimeout < c.HTTP.Timeout:
		return fmt.Errorf("http.timeout is %v and http.stream_timeout %v: want more than 0s, and no less for streams", c.HTTP.Timeout, c.HTTP.StreamTimeout)
	case c.Cassandra.Consistency != "local_one" && c.Cassandra.Consistency != "local_quorum":
		return fmt.Errorf("cassandra.consistency is %q: want local_one or local_quorum", c.Cassandra.Consistency)
	}
	return nil
}
