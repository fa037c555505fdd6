// Package cqltest is what tests on the real Cassandra begin with.
package cqltest

import (
	"strconv"
	"testing"
	"time"

	"footfall/configs"
	"footfall/deployments/stack/stacktest"
	"footfall/internal/cql"
)

// Config points at the real Cassandra, with keyspaces of the test's own, which are not there yet and are dropped when it ends. Where
// the stack cannot be had the test is skipped, or fails with CI=true.
func Config(t *testing.T) configs.Cassandra {
	t.Helper()
	_, host, port := stacktest.Require(t)
	cfg, err := configs.LoadConsumer("")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Cassandra.Hosts, cfg.Cassandra.Port = []string{host}, port
	cfg.Cassandra.KeyspaceSuffix = "_t" + strconv.FormatInt(time.Now().UnixNano(), 36)
	t.Cleanup(func() {
		session, err := cql.Connect(cfg.Cassandra.CassandraClient)
		if err != nil {
			t.Error(err)
			return
		}
		defer session.Close()
		for _, keyspace := range cql.KeyspacesOf(cfg.Cassandra.KeyspaceSuffix).All() {
			drop := func() error { return session.Query(`DROP KEYSPACE IF EXISTS ` + keyspace).Exec() }
			err := drop()
			for attempt := 0; err != nil && attempt < 3; attempt++ { // a busy server takes longer than the driver waits
				err = drop()
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	return cfg.Cassandra
}
