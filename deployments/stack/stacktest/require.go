// Package stacktest gives tests a real Kafka and a real Cassandra: the shared
// ones that `make up` brought, or private ones that a test may kill and pause.
package stacktest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"footfall/deployments/stack"
)

// Require returns the addresses of the running stack: 127.0.0.1:9092 and
// 127.0.0.1:9042, or what FOOTFALL_TEST_KAFKA (host:port) and
// FOOTFALL_TEST_CASSANDRA (host:port) name. Where one of the two does not
// answer the test is skipped; with CI=true it fails, so that a broken stack
// cannot pass for a green run. With -short nobody is asked: such a run has no
// servers.
//
// Others use the same servers at the same time: give topics, groups and
// keyspaces names of your own, and kill nothing. See Kafka and Cassandra for
// servers that may be harmed.
func Require(t testing.TB) (brokers, cassandraHost string, cassandraPort int) {
	t.Helper()
	notShort(t)
	brokers = fromEnv("FOOTFALL_TEST_KAFKA", "127.0.0.1:9092")
	host, portText, err := net.SplitHostPort(fromEnv("FOOTFALL_TEST_CASSANDRA", "127.0.0.1:9042"))
	if err != nil {
		t.Fatalf("reading FOOTFALL_TEST_CASSANDRA (want host:port): %v", err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		t.Fatalf("reading FOOTFALL_TEST_CASSANDRA (want host:port): %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	if err := stack.AskKafka(ctx, brokers); err != nil {
		skip(t, err)
	}
	if err := stack.AskCassandra(ctx, host, port); err != nil {
		skip(t, err)
	}
	return brokers, host, port
}

// notShort skips a test that needs servers where the run is to have none.
func notShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skipf("this test needs the real stack: not with -short")
	}
}

// skip ends the test, as a failure where a missing stack must not go unseen.
func skip(t testing.TB, why error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("this test needs the real stack and CI=true: run make up (%v)", why)
	}
	t.Skipf("this test needs the real stack: run make up (%v)", why)
}

func fromEnv(key, fallback string) string {
	if v := os.Getenv(key); v != "" {
		return v
	}
	return fallback
}

// root is the folder of go.mod; tests run in their package's folder.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	t.Fatalf("looking for the repository's root: no go.mod above the working directory (%v)", err)
	return ""
}
