package cql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gocql/gocql"

	"footfall/internal/retry"
)

// CheckDataCentres returns an error if the cluster has several data centres and localDC is empty. LOCAL_QUORUM has to mean the same nodes for
// every request: each must see what the last one wrote.
func CheckDataCentres(ctx context.Context, session *gocql.Session, localDC string) error {
	found := map[string]bool{}
	for _, table := range []string{"local", "peers"} {
		var name string
		query := session.Query(`SELECT data_center FROM system.` + table).Consistency(gocql.One).WithContext(ctx)
		if err := Each(query, func() error { found[name] = true; return nil }, &name); err != nil {
			return fmt.Errorf("reading the cluster's data centres: %w", err)
		}
	}
	names := slices.Sorted(maps.Keys(found))
	if localDC == "" && len(names) > 1 {
		return retry.Final(fmt.Errorf("the cluster has several data centres (%s): set cassandra.local_dc to one of them", strings.Join(names, ", ")))
	}
	return nil
}
