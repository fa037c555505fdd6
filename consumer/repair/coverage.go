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
func ExcessesIn(rows []store.LedgerRow, p models.Partition, s eventlog.Span) []Excess {
	return within(Excesses(rows, p), s)
}

// within is the part of the excesses that lies in s.
func within(list []Excess, s eventlog.Span) (out []Excess) {
	for _, e := range list {
		if e.Span = e.Intersect(s); !e.Empty() {
			out = append(out, e)
		}
	}
	return out
}

// clip is the part of each key's excesses that lies in s. Keys without any are left out.
func clip(broken map[models.Key][]Excess, s eventlog.Span) map[models.Key][]Excess {
	out := map[models.Key][]Excess{}
	for key, list := range broken {
		if list = within(list, s); len(list) > 0 {
			out[key] = list
		}
	}
	return out
}

func covers(list []Excess, offset int64) bool {
	return slices.ContainsFunc(list, func(e Excess) bool { return e.From <= offset && offset < e.To })
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

// maxCheck bounds how many offsets a doubt has. A larger bound would make the checks of a crash more expensive.
const maxCheck = 50_000

// Pieces cuts a span wherever the offset is a multiple of maxCheck, so that the pieces of spans that overlap are the same or overlap in turn.
func Pieces(s eventlog.Span) (out []eventlog.Span) {
	for !s.Empty() {
		piece := eventlog.Span{From: s.From, To: min(s.To, (s.From/maxCheck+1)*maxCheck)}
		out, s.From = append(out, piece), piece.To
	}
	return out
}
