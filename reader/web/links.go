package web

import (
	"context"
	"iter"
	"time"

	"footfall/models"
	"footfall/reader/stats"
	"footfall/reader/table"
)

// links lists the links of a day that the holder may read.
func (s *Server) links(ctx context.Context, q question) (*answer, error) {
	names, err := s.stats.Links(ctx, q.at, q.holder.Links())
	if err != nil {
		return nil, err
	}
	return namesAnswer(names, []field{{"day", q.at.Time().UTC().Format(models.Daily)}}, "links", "short_url"), nil
}

// namesAnswer is a list of names.
func namesAnswer(n stats.Names, head []field, name, column string) *answer {
	return &answer{asOf: n.AsOf, head: head, list: &list{name: name, columns: []string{column}, rows: table.Rows(n.Rows,
		func(row []any, name string) []any { return append(row, name) })}}
}

// link is the summary of a link.
func (s *Server) link(ctx context.Context, q question) (*answer, error) {
	l, err := s.stats.Link(ctx, q.name)
	if err != nil {
		return nil, err
	}
	var long any // null: footfall does not know
	if l.LongURL != "" {
		long = l.LongURL
	}
	return &answer{asOf: l.AsOf, head: []field{
		{"short_url", q.name}, {"long_url", long}, {"clicks", l.Clicks}, {"unique", l.Unique}, {"bots", l.Bots},
	}}, nil
}

func (s *Server) linkSeries(ctx context.Context, q question) (*answer, error) {
	series, err := s.stats.LinkSeries(ctx, q.name, q.by, q.within)
	if err != nil {
		return nil, err
	}
	points, err := s.fill(q, series)
	if err != nil {
		return nil, err
	}
	head := append([]field{{"short_url", q.name}}, stepFields(series.Unit, series.Within)...)
	return &answer{asOf: series.AsOf, head: head, list: &list{name: "points", columns: []string{"start", "clicks"}, rows: table.Rows(points,
		func(row []any, p stats.Point) []any { return append(row, instant(p.Start), p.Count) })}}, nil
}

func stepFields(by stats.Unit, within stats.Range) []field {
	return []field{{"by", string(by)}, {"from", end(within.From)}, {"to", end(within.To)}}
}

// leastTime is the least time that a unit takes: it bounds how many there are in a range.
var leastTime = map[stats.Unit]time.Duration{
	stats.Hour: time.Hour, stats.Day: 24 * time.Hour, stats.Week: 7 * 24 * time.Hour, stats.Month: 28 * 24 * time.Hour,
}

// fill puts zeros into a series if fill=zero asks for them.
func (s *Server) fill(q question, series stats.Series) (iter.Seq2[stats.Point, error], error) {
	switch q.get("fill", "") {
	case "":
		return series.Points, nil
	case "zero":
	default:
		return nil, &stats.Malformed{Field: "fill", Detail: "want zero, or leave it out"}
	}
	if series.Within.From == 0 || series.Within.To == 0 {
		return nil, &stats.Malformed{Field: "fill", Detail: "zeros need both ends of the range: from and to"}
	}
	if int64(series.Within.To-series.Within.From)/leastTime[series.Unit].Milliseconds() > int64(s.cfg.Points) {
		return nil, &refusal{Reason: tooMuch, Detail: "the range has more points than one answer with fill=zero may have (limits.points)",
			Instead: []string{"a larger unit (by)", "a shorter range", "the points that were counted, without fill=zero"}}
	}
	return stats.Fill(series.Unit, series.Within, series.Points), nil
}

// breakdown answers for one of a plan's breakdowns.
func breakdown(by models.Breakdown) func(*Server, context.Context, question) (*answer, error) {
	return func(s *Server, ctx context.Context, q question) (*answer, error) {
		shares, err := s.stats.LinkBreakdown(ctx, q.name, by.Path, q.within, q.limit)
		if err != nil {
			return nil, err
		}
		return &answer{asOf: shares.AsOf, head: []field{{"short_url", q.name}, {"from", end(q.within.From)}, {"to", end(q.within.To)}}, list: &list{name: by.Path, columns: []string{by.Word, "clicks"},
			rows: table.Rows(shares.Rows, func(row []any, p stats.Share) []any { return append(row, p.Label, p.Count) })}}, nil
	}
}

func (s *Server) amounts(ctx context.Context, q question) (*answer, error) {
	amounts, err := s.stats.LinkAmounts(ctx, q.name, q.by, q.within)
	if err != nil {
		return nil, err
	}
	head := append([]field{{"short_url", q.name}}, stepFields(amounts.Unit, amounts.Within)...)
	return &answer{asOf: amounts.AsOf, head: head, list: &list{name: "amounts", columns: []string{"start", "num", "sum"}, rows: table.Rows(amounts.Rows,
		func(row []any, a stats.Amount) []any { return append(row, instant(a.Start), a.Num, a.Sum) })}}, nil
}

func (s *Server) latest(ctx context.Context, q question) (*answer, error) {
	clicks, err := s.stats.LinkLatest(ctx, q.name, q.at)
	if err != nil {
		return nil, err
	}
	head := []field{{"short_url", q.name}, {"day", q.at.Time().UTC().Format(models.Daily)}}
	columns := []string{"at", "country", "referrer", "bot", "id", "ip"}
	if _, link := q.holder.Shares(); link != "" { // a link that anyone may pass on tells nobody's address
		columns = columns[:4]
	}
	return &answer{asOf: clicks.AsOf, head: head, list: &list{name: "clicks", columns: columns, rows: table.Rows(clicks.Rows,
		func(row []any, c stats.Click) []any {
			return append(row, c.At.UTC().Format("2006-01-02T15:04:05.000Z"), c.Country, c.Referrer, c.Bot, c.ID, c.IP)[:len(columns)]
		})}}, nil
}
