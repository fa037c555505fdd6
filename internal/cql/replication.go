package cql

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gocql/gocql"

	"footfall/internal/retry"
)

// Replication is the replication of each keyspace, as Cassandra has it: {'class': …, 'dc1': '3'}.
type Replication map[string]map[string]string

// ReadReplication reads the replication of our keyspaces from one node. It returns an error if one does not exist.
func ReadReplication(ctx context.Context, session *gocql.Session, k Keyspaces) (Replication, error) {
	found := Replication{}
	for _, keyspace := range k.All() {
		var one map[string]string
		err := One(session.Query(`SELECT replication FROM system_schema.keyspaces WHERE keyspace_name = ?`, keyspace).
			Consistency(gocql.One).WithContext(ctx), &one)
		if err != nil {
			return nil, fmt.Errorf("reading the replication of %s: %w", keyspace, err)
		}
		if one == nil {
			return nil, fmt.Errorf("keyspace %s does not exist: run `consumer migrate`", keyspace)
		}
		found[keyspace] = one
	}
	return found, nil
}

// String is a canonical text: the replication once if all keyspaces have the same, as they should, else with their names.
func (r Replication) String() string {
	var texts []string
	same := true
	for _, keyspace := range slices.Sorted(maps.Keys(r)) {
		var pairs []string
		for _, key := range slices.Sorted(maps.Keys(r[keyspace])) {
			value := r[keyspace][key]
			pairs = append(pairs, fmt.Sprintf("'%s': '%s'", key, value[strings.LastIndex(value, ".")+1:]))
		}
		text := "{" + strings.Join(pairs, ", ") + "}"
		same = same && (len(texts) == 0 || strings.HasSuffix(texts[0], text))
		texts = append(texts, keyspace+" "+text)
	}
	if same && len(texts) > 0 {
		return texts[0][strings.Index(texts[0], "{"):]
	}
	return strings.Join(texts, ", ")
}

// Several tells whether any keyspace has more than one replica.
func (r Replication) Several() bool {
	for _, one := range r {
		replicas := 0
		for _, value := range one {
			if n, err := strconv.Atoi(strings.Split(value, "/")[0]); err == nil {
				replicas += n
			}
		}
		if replicas > 1 {
			return true
		}
	}
	return false
}

// Keyspaces are the names of our keyspaces, with the configured suffix.
type Keyspaces struct{ Footfall, URLShortener, Cardinality string }

// KeyspacesOf returns the names for cassandra.keyspace_suffix.
func KeyspacesOf(suffix string) Keyspaces {
	return Keyspaces{"footfall" + suffix, "urlshortener" + suffix, "cardinality" + suffix}
}

// All returns the three names.
func (k Keyspaces) All() []string { return []string{k.Footfall, k.URLShortener, k.Cardinality} }

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
