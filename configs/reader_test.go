package configs

import (
	"net"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestReaderDefaults(t *testing.T) {
	clean(t)
	r, err := LoadReader("")
	if err != nil {
		t.Fatal(err)
	}
	if r.Access.Open || len(r.Access.Readers) > 0 || len(r.Access.ShareSecrets) > 0 || len(r.HTTP.Origins) > 0 || r.Cassandra.Consistency != "local_quorum" ||
		r.HTTP.Timeout != 30*time.Second {
		t.Errorf("%+v: closed unless opened", r)
	}
	var taken []string // all of ours on one machine, without any configuration
	for _, yaml := range [][]byte{producerYAML, consumerYAML, readerYAML} {
		v, err := parse(yaml)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"http.addr", "http.admin_addr"} {
			if addr := v.GetString(key); addr != "" {
				_, port, err := net.SplitHostPort(addr)
				if err != nil || slices.Contains(taken, port) {
					t.Errorf("%s: port %s is taken by another (%v)", addr, port, err)
				}
				taken = append(taken, port)
			}
		}
	}
	if len(taken) != 5 || r.HTTP.Addr != "127.0.0.1:8082" {
		t.Errorf("ports %v", taken)
	}
}

func TestReaderInTheEnvironment(t *testing.T) {
	clean(t)
	t.Setenv("FOOTFALL_ACCESS_READERS", `[{"site":"shop*","links":"promo","key_hashes":["ab"]}]`)
	t.Setenv("FOOTFALL_ACCESS_SHARE_SECRETS", "new, old")
	t.Setenv("FOOTFALL_ACCESS_SITES", `[{"site":"shop","key_hashes":["cd"],"origins":["*"]}]`) // of a producer: not the reader's
	t.Setenv("FOOTFALL_CASSANDRA_CONSISTENCY", "local_one")
	r, err := LoadReader("")
	if err != nil {
		t.Fatal(err)
	}
	if g := r.Access.Readers; len(g) != 1 || g[0].Site != "shop*" || g[0].Links != "promo" || !slices.Equal(g[0].KeyHashes, []string{"ab"}) {
		t.Errorf("readers %+v", g)
	}
	if !slices.Equal(r.Access.ShareSecrets, []string{"new", "old"}) || r.Cassandra.Consistency != "local_one" {
		t.Errorf("%+v", r)
	}
}

func TestReaderMistakesAreNamed(t *testing.T) {
	clean(t)
	f := func(yaml, want string) {
		t.Helper()
		if _, err := LoadReader(write(t, yaml)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want an error with %q", yaml, err, want)
		}
	}
	f("cassandra: {consistency: one}", "cassandra.consistency")
	f("http: {timeout: 0s}", "http.timeout")
	f("http: {stream_timeout: 1s}", "http.stream_timeout")
	f("http: {max_in_flight: 0}", "http.max_in_flight")
	f("limits: {points: 0}", "limits.points")
	f("kafka: {topics: {visits: ''}}", "kafka.topics")
	f("http: {admin_addr: x}", "http.admin_addr")
	f("access: {sites: []}", "sites") // the producer's
	f("access: {readers: '[{\"sites\":\"x\"}]'}", "is no list in JSON")
}
