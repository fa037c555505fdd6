package repair

import (
	"slices"

	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/models"
)

// Excess is a stretch of offsets that a key's ledger covers N times too often; if N is negative, too seldom.
type Excess struct {
	eventlog.Span
	N int
}

// Excesses finds where a key's ledger rows of one partition break the rule. At an offset that an owner's row covers, the number of
// owner and plus rows, less that of minus rows, must be 1; elsewhere it must be 0. It is a pure function.
func Excesses(rows []store.LedgerRow, p models.Partition) []Excess {
	var edges []int64
	for _, row := range rows {
		if row.Partition == p {
			edges = append(edges, row.From, row.To)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var out []Excess
	for i := 0; i+1 < len(edges); i++ {
		s := eventlog.Span{From: edges[i], To: edges[i+1]}
		n := excess(rows, p, s)
		if n == 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].To == s.From && out[last].N == n {
			out[last].To = s.To
			continue
		}
		out = append(out, Excess{s, n})
	}
	return out
}

// ExcessesIn is the part of a key's excesses that lies in s.
func ExcessesIn(rows []store.LedgerRow, p models.Partition, s eventlog.Span) (out []Excess) {
	for _, e := range Excesses(rows, p) {
		if e.Span = e.Intersect(s); !e.Empty() {
			out = append(out, e)
		}
	}
	return out
}

// excess is how many times too often the rows cover s. No row begins or ends inside s.
func excess(rows []store.LedgerRow, p models.Partition, s eventlog.Span) int {
	n, owned := 0, 0
	for _, row := range rows {
		if row.Partition != p || row.From > s.From || row.To < s.To {
			continue
		}
		switch row.Kind {
		case store.KindOwner:
			n, owned = n+1, 1
		case store.KindPlus:
			n++
		case store.KindMinus:
			n--
		}
	}
	return n - owned
}

// PartitionsOf lists the partitions that a key's ledger rows are of.
func PartitionsOf(rows []store.LedgerRow) []models.Partition {
	var out []models.Partition
	for _, row := range rows {
		if !slices.Contains(out, row.Partition) {
			out = append(out, row.Partition)
		}
	}
	return out
}

// maxCheck bounds how many offsets are checked, and held in memory, at once.
const maxCheck = 50_000

// Pieces cuts a span into parts that can be checked at once.
func Pieces(s eventlog.Span) (out []eventlog.Span) {
	for ; s.To-s.From > maxCheck; s.From += maxCheck {
		out = append(out, eventlog.Span{From: s.From, To: s.From + maxCheck})
	}
	if !s.Empty() {
		out = append(out, s)
	}
	return out
}
