package rollup

import (
	"slices"

	"footfall/consumer/store"
	"footfall/models"
)

// excess is a stretch of offsets that a key's ledger covers n times too often, or -n times too seldom.
type excess struct {
	span
	n int
}

// excesses holds a key's ledger rows of one partition against the rule: where an owner's row covers an offset, owners and
// plus rows, less minus rows, make exactly 1; elsewhere they make 0. It is a pure function.
func excesses(rows []store.LedgerRow, p models.Partition) []excess {
	var edges []int64
	for _, row := range rows {
		if row.Partition == p {
			edges = append(edges, row.From, row.To)
		}
	}
	slices.Sort(edges)
	edges = slices.Compact(edges)
	var out []excess
	for i := 0; i+1 < len(edges); i++ {
		s := span{edges[i], edges[i+1]}
		n := worth(rows, p, s)
		if n == 0 {
			continue
		}
		if last := len(out) - 1; last >= 0 && out[last].to == s.from && out[last].n == n {
			out[last].to = s.to
			continue
		}
		out = append(out, excess{s, n})
	}
	return out
}

// excessesIn is the part of a key's excesses that lies in s.
func excessesIn(rows []store.LedgerRow, p models.Partition, s span) (out []excess) {
	for _, e := range excesses(rows, p) {
		if e.span = e.intersect(s); !e.empty() {
			out = append(out, e)
		}
	}
	return out
}

// worth is how much too often the rows cover s, which no row's edge divides.
func worth(rows []store.LedgerRow, p models.Partition, s span) int {
	n, owned := 0, 0
	for _, row := range rows {
		if row.Partition != p || row.From > s.from || row.To < s.to {
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

// partitionsOf lists the partitions that a key's ledger speaks of.
func partitionsOf(rows []store.LedgerRow) []models.Partition {
	var out []models.Partition
	for _, row := range rows {
		if !slices.Contains(out, row.Partition) {
			out = append(out, row.Partition)
		}
	}
	return out
}

func (s span) intersect(t span) span { return span{max(s.from, t.from), min(s.to, t.to)} }

func (s span) empty() bool { return s.from >= s.to }

// maxCheck bounds how many offsets are checked, and held in memory, at once.
const maxCheck = 100_000

// pieces cuts a span into parts that can be checked.
func (s span) pieces() (out []span) {
	for ; s.to-s.from > maxCheck; s.from += maxCheck {
		out = append(out, span{s.from, s.from + maxCheck})
	}
	if !s.empty() {
		out = append(out, s)
	}
	return out
}
