package cassandra

import (
	"cmp"
	"slices"

	"footfall/internal/cql"
	"footfall/models"
)

// A request has several partitions that are neighbours on the ring. It stays below what Cassandra warns of by default: batches of 5 KiB
// (batch_size_warn_threshold) and of ten partitions, unless a single partition needs more.
const (
	requestBytes      = 4 << 10
	requestPartitions = 10
)

// How many rows of one partition are in one request: of visitors, where more are not faster, and of names, whose rows are so small
// that the requests are the most of the work. Cassandra's limits of batches do not hold for a single partition.
const (
	rowsPerRequest  = 64
	namesPerRequest = 1000
)

// What one read of visitors asks for at the most, for guardrails that limit it: partitions, and rows (see lookups).
const (
	MostPartitionsAsked = requestPartitions
	MostRowsAsked       = 128
)

// requestPart is the write of one key, or one row of visitors: the smallest unit of a request.
type requestPart struct {
	token int64 // of its partition
	index int32 // in the caller's list
	kind  int32 // parts of different kinds never share a request
	bytes int32 // about the size that Cassandra counts
}

// packRequests cuts a list into requests of neighbours on the ring. It sorts the list and returns slices of it. same tells whether two
// parts are of one partition: two partitions may have the same token, and whoever names links can provoke that.
func packRequests(list []requestPart, most int, same func(a, b requestPart) bool) [][]requestPart {
	slices.SortFunc(list, func(a, b requestPart) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.token, b.token), cmp.Compare(a.index, b.index))
	})
	var out [][]requestPart
	begin, bytes, partitions := 0, int32(0), 0
	for i := 0; i < len(list); {
		part := onePartition(list[i:], most, same)
		size := int32(0)
		for _, row := range part {
			size += row.bytes
		}
		if i > begin && (list[i].kind != list[begin].kind || bytes+size > requestBytes || partitions == requestPartitions) {
			out = append(out, list[begin:i])
			begin, bytes, partitions = i, 0, 0
		}
		i, bytes, partitions = i+len(part), bytes+size, partitions+1
	}
	if begin < len(list) {
		out = append(out, list[begin:])
	}
	return out
}

// onePartition returns the rows of one partition at the beginning of a sorted list, at most so many.
func onePartition(list []requestPart, most int, same func(a, b requestPart) bool) []requestPart {
	n := 1
	for n < min(len(list), most) && list[n].kind == list[0].kind && list[n].token == list[0].token && same(list[0], list[n]) {
		n++
	}
	return list[:n]
}

// keyspaceNumber is a value of requestPart.kind that differs by keyspace.
func keyspaceNumber(k models.Keyspace) int32 {
	if k == models.URLShortener {
		return 0
	}
	return 1
}

// keyToken is the token of a key's partition.
func keyToken(k models.Key) int64 {
	if k.Keyspace == models.URLShortener {
		return cql.Token([]byte(k.Name))
	}
	key := cql.AppendColumn(nil, k.Name)
	key = cql.AppendMillis(key, int64(k.Month))
	for _, f := range k.Features.Values() {
		key = cql.AppendColumn(key, f)
	}
	return cql.Token(key)
}
