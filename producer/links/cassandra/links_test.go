package cassandra

import (
	"strings"
	"testing"

	"footfall/internal/cql/cqltest"
	"footfall/migrations"
	"footfall/models"
	"footfall/producer/links"
	"footfall/producer/links/linkstest"
)

var _ links.Store = (*Links)(nil)

func TestLinks(t *testing.T) {
	cfg := cqltest.Config(t)
	if _, err := Open(t.Context(), cfg.CassandraClient); err == nil || !strings.Contains(err.Error(), "consumer migrate") {
		t.Errorf("without a schema: %v", err)
	}
	if err := migrations.Apply(t.Context(), cfg, models.DefaultPlan(), t.Logf); err != nil {
		t.Fatal(err)
	}
	linkstest.Run(t, func(t *testing.T) links.Store {
		l, err := Open(t.Context(), cfg.CassandraClient)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	})
}
