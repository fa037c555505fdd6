package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"footfall/internal/cql"
	"footfall/reader/stats"
)

// A request asks for several keys that differ in one feature, by IN, and several requests are under way. Median times for 10,000 keys in
// memory, on one node that shares two cores with all else, at a load average of 15 to 19:
//
//	one key a request:       64 at once 1.0 to 1.3 s, 128 at once 0.8 to 1.1 s
//	10 keys by IN:           8 at once 0.5 s,  16 at once 0.3 to 0.6 s
//	50 keys by IN:           8 at once 0.2 to 0.4 s, 16 at once 0.18 to 0.27 s
//	100 keys by IN:          8 at once 0.2 to 0.3 s, 16 at once 0.18 to 0.41 s
//	250 keys or more by IN:  0.2 to 0.8 s
//
// A larger IN makes one node work for longer at a stretch, for others' cost and no gain.
const (
	rankedTogether = 50
	rankedAtOnce   = 16
)

// Ranked implements stats.Store.
func (s *Store) Ranked(ctx context.Context, keys []stats.SiteKey, metric string, within stats.Range) ([]int64, error) {
	feature := varying(keys)
	counts := make([]int64, len(keys))
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(rankedAtOnce)
	for _, request := range requests(keys, feature) {
		if working.Err() != nil {
			break
		}
		group.Go(func() error { return s.ranked(working, counts, keys, request, feature, metric, within) })
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("reading visits of %d keys: %w", len(keys), err)
	}
	return counts, ctx.Err()
}

// ranked reads the counts of a request's keys, given by their indexes. No two requests share one.
func (s *Store) ranked(ctx context.Context, counts []int64, keys []stats.SiteKey, request []int, feature int, metric string, within stats.Range) error {
	places := make(map[string][]int, len(request))
	for _, i := range request {
		value := keys[i].Features[feature]
		places[value] = append(places[value], i)
	}
	values := make([]string, 0, len(places))
	for value := range places {
		values = append(values, value)
	}
	args := keyOf(keys[request[0]])
	args[2+feature] = values
	from, to := between(within)
	query := s.session.Query(s.cql.ranked[feature], append(args, metric, from, to)...).
		RoutingKey(routingKey(keys[request[0]])) // gocql derives none from IN
	for share, err := range scanned(ctx, query, "visits", scanShare) {
		if err != nil {
			return err
		}
		for _, i := range places[share.Label] {
			counts[i] += share.Count
		}
	}
	return nil
}

// varying is the feature that tells the keys apart; others may do so as well.
func varying(keys []stats.SiteKey) int {
	for _, key := range keys {
		for i, value := range key.Features {
			if value != keys[0].Features[i] {
				return i
			}
		}
	}
	return 0
}

// requests cuts keys into requests, by index. The keys of one differ in one feature only, and are neighbours on the ring: where there are
// more nodes than replicas, most of them are on the node that is asked.
func requests(keys []stats.SiteKey, feature int) (out [][]int) {
	order, tokens := make([]int, len(keys)), make([]int64, len(keys))
	for i, key := range keys {
		order[i], tokens[i] = i, cql.Token(routingKey(key))
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(compareRest(keys[a], keys[b], feature), cmp.Compare(tokens[a], tokens[b]))
	})
	begin := 0
	for i := range order {
		if i-begin == rankedTogether || i > begin && compareRest(keys[order[begin]], keys[order[i]], feature) != 0 {
			out, begin = append(out, order[begin:i]), i
		}
	}
	if begin < len(order) {
		out = append(out, order[begin:])
	}
	return out
}

// compareRest compares keys but for one feature.
func compareRest(a, b stats.SiteKey, but int) int {
	return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Month, b.Month), slices.Compare(a.Features[:but], b.Features[:but]),
		slices.Compare(a.Features[but+1:], b.Features[but+1:]))
}

// routingKey is the partition key as CQL has it on the wire.
func routingKey(key stats.SiteKey) []byte {
	out := cql.AppendMillis(cql.AppendColumn(nil, key.Site), int64(key.Month))
	for _, value := range key.Features {
		out = cql.AppendColumn(out, value)
	}
	return out
}
