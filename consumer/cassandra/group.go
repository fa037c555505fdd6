package cassandra

import (
	"cmp"
	"slices"

	"footfall/models"
)

// A request carries several partitions, of neighbours on the ring. It stays below what Cassandra warns about by default:
// batches of 5 KiB (batch_size_warn_threshold) and of ten partitions, unless a single partition needs more.
const (
	requestBytes      = 4 << 10
	requestPartitions = 10
)

// sized is one partition's part of a request.
type sized struct {
	index    int // in the caller's list
	keyspace models.Keyspace
	token    int64
	bytes    int // as Cassandra counts, roughly
}

// grouped puts the parts together into requests, by their indices. Parts of one keyspace that lie next to each other on the
// ring go together. It is a pure function.
func grouped(parts []sized) [][]int {
	slices.SortFunc(parts, func(a, b sized) int {
		return cmp.Or(cmp.Compare(a.keyspace, b.keyspace), cmp.Compare(a.token, b.token), cmp.Compare(a.index, b.index))
	})
	var out [][]int
	bytes := 0
	for i, p := range parts {
		last := len(out) - 1
		if i == 0 || parts[i-1].keyspace != p.keyspace || bytes+p.bytes > requestBytes || len(out[last]) == requestPartitions {
			out = append(out, nil)
			last, bytes = last+1, 0
		}
		out[last] = append(out[last], p.index)
		bytes += p.bytes
	}
	return out
}
