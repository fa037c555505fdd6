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

// rowsPerRequest bounds the rows of one partition that are read or written in one request. More gain nothing.
const rowsPerRequest = 64

// sized is one part of a request: what is asked or written of one partition, or one row of that.
type sized struct {
	token int64 // of its partition
	index int32 // in the caller's list
	apart int32 // only those with the same number go together
	bytes int32 // as Cassandra counts, roughly
}

// grouped cuts a list into requests. Parts that lie next to each other on the ring go together. It sorts the list, and what it
// returns are stretches of it. same tells whether two of them are of one partition: two partitions may share a token, and whoever
// names links can make them do so.
func grouped(list []sized, same func(a, b sized) bool) [][]sized {
	slices.SortFunc(list, func(a, b sized) int {
		return cmp.Or(cmp.Compare(a.apart, b.apart), cmp.Compare(a.token, b.token), cmp.Compare(a.index, b.index))
	})
	var out [][]sized
	begin, bytes, partitions := 0, int32(0), 0
	for i := 0; i < len(list); {
		part := onePartition(list[i:], same)
		size := int32(0)
		for _, row := range part {
			size += row.bytes
		}
		if i > begin && (list[i].apart != list[begin].apart || bytes+size > requestBytes || partitions == requestPartitions) {
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

// onePartition is the rows at the beginning of a sorted list that are of one partition, rowsPerRequest at the most.
func onePartition(list []sized, same func(a, b sized) bool) []sized {
	n := 1
	for n < min(len(list), rowsPerRequest) && list[n].apart == list[0].apart && list[n].token == list[0].token && same(list[0], list[n]) {
		n++
	}
	return list[:n]
}

// keyspaceNumber keeps the two keyspaces apart.
func keyspaceNumber(k models.Keyspace) int32 {
	if k == models.URLShortener {
		return 0
	}
	return 1
}
