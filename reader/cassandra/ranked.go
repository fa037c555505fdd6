package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"footfall/internal/cql"
	"footfall/models"
	"footfall/reader/stats"
)

// A request asks for several keys that differ in one column (the site, or a feature), by IN, and several requests are under way. Median times for 10,000 keys in
// memory, on one node that shares two cores with all else, in turns:
//
//	10 keys by IN:   32 at once 159 ms
//	25 keys by IN:   16 at once 154 ms, 32 at once 145 ms
//	50 keys by IN:   4 at once 203 ms, 8 at once 154 ms, 16 at once 132 ms, 32 at once 141 ms
//	100 keys by IN:  4 at once 190 ms, 8 at once 148 ms, 16 at once 135 ms
//	200 keys by IN:  4 at once 170 ms, 8 at once 134 ms
//	500 keys by IN:  4 at once 180 ms
//
// One key a request takes four times as long and more. To list the keys takes 14 ms.
// A larger IN makes one node work for longer at a stretch, for others' cost and no gain.
const (
	rankedTogether = 50
	rankedAtOnce   = 16
)

// Ranked implements stats.Store.
func (s *Store) Ranked(ctx context.Context, keys []stats.SiteKey, metric string, within stats.Range) ([]int64, error) {
	column := varying(keys)
	counts := make([]int64, len(keys))
	err := atOnce(ctx, slices.Values(requests(keys, column)), func(ctx context.Context, request []int) error {
		return s.ranked(ctx, counts, keys, request, column, metric, within)
	})
	if err != nil {
		return nil, fmt.Errorf("reading visits of %d keys: %w", len(keys), err)
	}
	return counts, nil
}

// ranked reads the counts of a request's keys, given by their indexes. No two requests share one.
func (s *Store) ranked(ctx context.Context, counts []int64, keys []stats.SiteKey, request []int, column int, metric string, within stats.Range) error {
	places := make(map[string][]int, len(request))
	for _, i := range request {
		value := columnOf(keys[i], column)
		places[value] = append(places[value], i)
	}
	args := []any{keys[request[0]].Month.Time(), keys[request[0]].Site}
	for _, value := range keys[request[0]].Features {
		args = append(args, value)
	}
	args[1+column] = slices.Collect(maps.Keys(places))
	from, to := between(within)
	query := s.session.Query(s.cql.ranked[column], append(args, metric, from, to)...)
	return addUp(ctx, query, routingKey(keys[request[0]]), counts, places)
}

// addUp adds what a query finds under a label to the counts at the label's places. gocql derives no routing key from IN.
func addUp(ctx context.Context, query *gocql.Query, routing []byte, counts []int64, places map[string][]int) error {
	for share, err := range scanned(ctx, query.RoutingKey(routing), "a ranking", scanShare) {
		if err != nil {
			return err
		}
		for _, i := range places[share.Label] {
			counts[i] += share.Count
		}
	}
	return nil
}

// atOnce makes requests, rankedAtOnce of them at a time, until one fails.
func atOnce[R any](ctx context.Context, requests iter.Seq[R], do func(context.Context, R) error) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(rankedAtOnce)
	for request := range requests {
		if working.Err() != nil {
			break
		}
		group.Go(func() error { return do(working, request) })
	}
	return cmp.Or(group.Wait(), ctx.Err())
}

// RankedLinks implements stats.Store, with requests like those of Ranked.
func (s *Store) RankedLinks(ctx context.Context, links []string, day models.Millis) ([]int64, error) {
	places := make(map[string][]int, len(links))
	for i, link := range links {
		places[link] = append(places[link], i)
	}
	counts := make([]int64, len(links))
	err := atOnce(ctx, slices.Chunk(byToken(places), rankedTogether), func(ctx context.Context, request []string) error {
		return addUp(ctx, s.session.Query(s.cql.rankedLinks, request, day.Time()), []byte(request[0]), counts, places)
	})
	if err != nil {
		return nil, fmt.Errorf("reading clicks of %d links: %w", len(links), err)
	}
	return counts, nil
}

// byToken are the links in the order of the ring.
func byToken(links map[string][]int) []string {
	tokens := make(map[string]int64, len(links))
	for link := range links {
		tokens[link] = cql.Token([]byte(link))
	}
	return slices.SortedFunc(maps.Keys(links), func(a, b string) int { return cmp.Compare(tokens[a], tokens[b]) })
}

// columnOf is the site (0) or a feature (from 1 on).
func columnOf(key stats.SiteKey, column int) string {
	if column == 0 {
		return key.Site
	}
	return key.Features[column-1]
}

// varying is the first column that tells keys apart; others may do so as well.
func varying(keys []stats.SiteKey) int {
	if len(keys) == 0 {
		return 0
	}
	for column := range 1 + len(keys[0].Features) {
		for _, key := range keys {
			if columnOf(key, column) != columnOf(keys[0], column) {
				return column
			}
		}
	}
	return 0
}

// requests cuts keys into requests, by index. The keys of one differ in one column only, and are neighbours on the ring: where there are
// more nodes than replicas, most of them are on the node that is asked.
func requests(keys []stats.SiteKey, column int) (out [][]int) {
	order, tokens := make([]int, len(keys)), make([]int64, len(keys))
	for i, key := range keys {
		order[i], tokens[i] = i, cql.Token(routingKey(key))
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(compareRest(keys[a], keys[b], column), cmp.Compare(tokens[a], tokens[b]))
	})
	begin := 0
	for i := range order {
		if i-begin == rankedTogether || i > begin && compareRest(keys[order[begin]], keys[order[i]], column) != 0 {
			out, begin = append(out, order[begin:i]), i
		}
	}
	if begin < len(order) {
		out = append(out, order[begin:])
	}
	return out
}

// compareRest compares keys but for one column.
func compareRest(a, b stats.SiteKey, but int) int {
	if a.Month != b.Month {
		return cmp.Compare(a.Month, b.Month)
	}
	for column := range 1 + len(a.Features) {
		if order := cmp.Compare(columnOf(a, column), columnOf(b, column)); order != 0 && column != but {
			return order
		}
	}
	return 0
}

// routingKey is the partition key as CQL has it on the wire.
func routingKey(key stats.SiteKey) []byte {
	out := cql.AppendMillis(cql.AppendColumn(nil, key.Site), int64(key.Month))
	for _, value := range key.Features {
		out = cql.AppendColumn(out, value)
	}
	return out
}
