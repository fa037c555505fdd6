// Package stacktest gives tests a real Kafka and a real Cassandra: the shared ones that `make up` started, or private ones that a test may kill
// and pause.
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
// FOOTFALL_TEST_CASSANDRA (host:port) name. If one of the two does not answer, the test is skipped. With CI=true it fails, so that a broken
// stack cannot pass as a green run. With -short it is always skipped, without asking.
//
// Other tests use the same servers at the same time: give topics, groups and keyspaces names of your own, and kill nothing. Kafka and Cassandra
// start servers that a test may kill.
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

// notShort skips a test that needs servers if -short is set.
func notShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skipf("this test needs the real stack: not with -short")
	}
}

// skip skips the test. With CI=true it fails the test instead, so that a missing stack is noticed.
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
