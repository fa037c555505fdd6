package cassandra

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"footfall/internal/cql"
	"footfall/internal/tables"
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
func (s *Store) Ranked(ctx context.Context, keys []models.Key, counter string, within stats.Range) ([]int64, error) {
	ranked := make([]rankedKey, len(keys))
	for i, key := range keys {
		ranked[i] = newRankedKey(key)
	}
	column := varying(ranked)
	counts := make([]int64, len(keys))
	all := requests(ranked, column)
	err := cql.AtOnce(ctx, rankedAtOnce, len(all), func(ctx context.Context, i int) error {
		return s.ranked(ctx, counts, ranked, all[i], column, s.cql.counter[counter], within)
	})
	if err != nil {
		return nil, fmt.Errorf("reading %s of %d keys: %w", counter, len(keys), err)
	}
	return counts, nil
}

// rankedKey is a key, and its columns: the values of the partition key.
type rankedKey struct {
	columns []any
	routing []byte
	token   int64
}

func newRankedKey(key models.Key) rankedKey {
	k := rankedKey{columns: keyArgs(key)}
	k.routing = cql.AppendKey(nil, k.columns...)
	k.token = cql.Token(k.routing)
	return k
}

// ranked reads the counts of a request's keys, given by their indexes. No two requests share one.
func (s *Store) ranked(ctx context.Context, counts []int64, keys []rankedKey, request []int, column int, of counter, within stats.Range) error {
	places := make(map[string][]int, len(request))
	for _, i := range request {
		value := keys[i].columns[column].(string)
		places[value] = append(places[value], i)
	}
	first := keys[request[0]]
	args := slices.Clone(first.columns)
	args[column] = slices.Collect(maps.Keys(places))
	from, to := between(within)
	query := s.session.Query(of.ranked[column], tables.AppendRange(args, of.Counter, from, to)...).RoutingKey(first.routing).PageSize(pageRows) // gocql derives none from IN
	for share, err := range scanned(ctx, query, "a ranking", (*stats.Share).Columns) {
		if err != nil {
			return err
		}
		for _, i := range places[share.Label] {
			counts[i] += share.Count
		}
	}
	return nil
}

// varying is the first column of texts that tells keys apart; others may do so as well.
func varying(keys []rankedKey) int {
	if len(keys) == 0 {
		return 0
	}
	for column, value := range keys[0].columns {
		_, text := value.(string)
		if text && slices.ContainsFunc(keys, func(k rankedKey) bool { return k.columns[column] != value }) {
			return column
		}
	}
	return 0
}

// requests cuts keys into requests, by index. The keys of one differ in one column only, and are neighbours on the ring: where there are
// more nodes than replicas, most of them are on the node that is asked.
func requests(keys []rankedKey, column int) (out [][]int) {
	order := make([]int, len(keys))
	for i := range keys {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(compareRest(keys[a], keys[b], column), cmp.Compare(keys[a].token, keys[b].token))
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
func compareRest(a, b rankedKey, but int) int {
	for column, value := range a.columns {
		order := 0
		switch value := value.(type) {
		case string:
			order = cmp.Compare(value, b.columns[column].(string))
		case time.Time:
			order = value.Compare(b.columns[column].(time.Time))
		}
		if order != 0 && column != but {
			return order
		}
	}
	return 0
}
