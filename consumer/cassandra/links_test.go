package cassandra

import (
	"strings"
	"testing"

	"footfall/models"
	"footfall/producer/links"
	"footfall/producer/links/linkstest"
)

func TestLinks(t *testing.T) {
	cfg := testConfig(t)
	if _, err := OpenLinks(t.Context(), cfg.CassandraClient); err == nil || !strings.Contains(err.Error(), "consumer migrate") {
		t.Errorf("without a schema: %v", err)
	}
	testMigrate(t, cfg, models.DefaultPlan())
	linkstest.Run(t, func(t *testing.T) links.Store {
		l, err := OpenLinks(t.Context(), cfg.CassandraClient)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.Close)
		return l
	})
}
