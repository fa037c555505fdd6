package web

import (
	"context"
	"iter"
	"maps"
	"slices"
	"strings"

	"footfall/models"
	"footfall/reader/params"
	"footfall/reader/stats"
	"footfall/reader/table"
)

// sites lists the sites of a month that the holder may read.
func (s *Server) sites(ctx context.Context, q question) (*answer, error) {
	month, err := q.moment("month", models.Monthly, q.now)
	if err != nil {
		return nil, err
	}
	names, err := s.stats.Sites(ctx, month, q.holder.Sites())
	if err != nil {
		return nil, err
	}
	return namesAnswer(names, []field{{"month", month.Time().UTC().Format(models.Monthly)}}, "sites", "siteId"), nil
}

// site is the summary of a site's period.
func (s *Server) site(ctx context.Context, q question) (*answer, error) {
	period, err := q.period(q.now)
	if err != nil {
		return nil, err
	}
	found, err := s.stats.Site(ctx, q.name, period, q.Features)
	if err != nil {
		return nil, err
	}
	head := append(q.siteFields(), periodFields(found.Period)...)
	return &answer{asOf: found.AsOf, head: append(head, field{"views", found.Views}, field{"unique", found.Unique}, field{"final", found.Final})}, nil
}

// siteFields are the site and what it is filtered by.
func (q question) siteFields() []field {
	filters := maps.Clone(q.Features)
	if filters == nil {
		filters = map[string]string{}
	}
	return []field{{"siteId", q.name}, {"features", filters}}
}

func periodFields(p stats.Period) []field {
	return []field{{"period", p.String()}, {"from", end(p.Start)}, {"to", end(p.End())}}
}

func (s *Server) siteSeries(ctx context.Context, q question) (*answer, error) {
	metric, err := q.metric(len(q.Features))
	if err != nil {
		return nil, err
	}
	by, within, err := q.steps()
	if err != nil {
		return nil, err
	}
	const both = "a series of a site needs both from and to: it is kept month by month"
	switch {
	case within.From == 0:
		return nil, &refusal{Reason: "missing_from", Detail: both}
	case within.To == 0:
		return nil, &refusal{Reason: "missing_to", Detail: both}
	}
	series, err := s.stats.SiteSeries(ctx, stats.SeriesQuery{Site: q.name, Metric: metric, By: by, Within: within, Features: q.Features})
	if err != nil {
		return nil, err
	}
	points, err := s.fill(q, series)
	if err != nil {
		return nil, err
	}
	head := append(q.siteFields(), field{"metric", string(metric)})
	head = append(head, stepFields(series.Unit, series.Within)...)
	return &answer{asOf: series.AsOf, head: head, list: &list{name: "points", columns: []string{"start", string(metric), "final"},
		rows: table.Rows(points, func(row []any, p stats.Point) []any { return append(row, instant(p.Start), p.Count, series.Final(p)) })}}, nil
}

// knownFeature refuses a feature that the plan does not have.
func (s *Server) knownFeature(name string) error {
	features := s.stats.Plan().Features()
	if slices.Contains(features, name) {
		return nil
	}
	return &refusal{Reason: unknownFeature, Detail: params.Shown(name) + " is no feature; there are " + strings.Join(features, ", "), Instead: features}
}

// values lists the values of a feature in a month.
func (s *Server) values(ctx context.Context, q question) (*answer, error) {
	if err := s.knownFeature(q.feature); err != nil {
		return nil, err
	}
	month, err := q.moment("month", models.Monthly, q.now)
	if err != nil {
		return nil, err
	}
	names, err := s.stats.Values(ctx, q.name, q.feature, month)
	if err != nil {
		return nil, err
	}
	head := []field{{"siteId", q.name}, {"feature", q.feature}, {"month", month.Time().UTC().Format(models.Monthly)}}
	return namesAnswer(names, head, "values", "value"), nil
}

// top ranks the values of a feature.
func (s *Server) top(ctx context.Context, q question) (*answer, error) {
	if err := s.knownFeature(q.feature); err != nil {
		return nil, err
	}
	period, err := q.period(q.now)
	if err != nil {
		return nil, err
	}
	metric, err := q.metric(len(q.Features) + 1)
	if err != nil {
		return nil, err
	}
	limit, err := q.limit()
	if err != nil {
		return nil, err
	}
	found, err := s.stats.SiteTop(ctx, stats.TopQuery{Site: q.name, Feature: q.feature, Period: period, Metric: metric, Features: q.Features, Limit: limit})
	if err != nil {
		return nil, err
	}
	head := append(append(q.siteFields(), field{"feature", q.feature}, field{"metric", string(metric)}), periodFields(found.Period)...)
	head = append(head, field{"values", found.Values}, field{"complete", found.Complete}, field{"final", found.Final})
	return &answer{asOf: found.AsOf, head: head, list: &list{name: "top", columns: []string{"value", string(metric)}, complete: &found.Complete,
		rows: table.Rows(each(found.Rows), func(row []any, v stats.Share) []any { return append(row, v.Label, v.Count) })}}, nil
}

// each is a slice as a sequence that cannot fail.
func each[T any](values []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, v := range values {
			if !yield(v, nil) {
				return
			}
		}
	}
}
