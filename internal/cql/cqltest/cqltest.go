// Package cqltest gives tests keyspaces of their own on the real Cassandra.
package cqltest

import (
	"context"
	"strconv"
	"testing"
	"time"

	"footfall/configs"
	"footfall/deployments/stack/stacktest"
	"footfall/internal/cql"
)

// Config returns a configuration for the real Cassandra, with a keyspace suffix of the test's own. The keyspaces do not exist yet, and are
// dropped when the test ends. If there is no stack, the test is skipped, or fails with CI=true.
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
		session, err := cql.Connect(context.Background(), cfg.Cassandra.CassandraClient)
		if err != nil {
			t.Error(err)
			return
		}
		defer session.Close()
		for _, keyspace := range cql.KeyspacesOf(cfg.Cassandra.KeyspaceSuffix).All() {
			drop := func() error { return session.Query(`DROP KEYSPACE IF EXISTS ` + keyspace).Exec() }
			err := drop()
			for attempt := 0; err != nil && attempt < 3; attempt++ { // a busy server may take longer than the driver's timeout
				err = drop()
			}
			if err != nil {
				t.Error(err)
			}
		}
	})
	return cfg.Cassandra
}
