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
	names, err := s.stats.Sites(ctx, q.at, q.holder.Sites())
	if err != nil {
		return nil, err
	}
	return namesAnswer(names, []field{{"month", q.at.Time().UTC().Format(models.Monthly)}}, "sites", "siteId"), nil
}

// site is the summary of a site's period.
func (s *Server) site(ctx context.Context, q question) (*answer, error) {
	found, err := s.stats.Site(ctx, q.name, q.period, q.Features)
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
	const both = "a series of a site needs both from and to: it is kept month by month"
	switch {
	case q.within.From == 0:
		return nil, &refusal{Reason: "missing_from", Detail: both}
	case q.within.To == 0:
		return nil, &refusal{Reason: "missing_to", Detail: both}
	}
	series, err := s.stats.SiteSeries(ctx, stats.SeriesQuery{Site: q.name, Metric: q.metric, By: q.by, Within: q.within, Features: q.Features})
	if err != nil {
		return nil, err
	}
	points, err := s.fill(q, series)
	if err != nil {
		return nil, err
	}
	head := append(q.siteFields(), field{"metric", string(q.metric)})
	head = append(head, stepFields(series.Unit, series.Within)...)
	return &answer{asOf: series.AsOf, head: head, list: &list{name: "points", columns: []string{"start", string(q.metric), "final"},
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
	names, err := s.stats.Values(ctx, q.name, q.feature, q.at)
	if err != nil {
		return nil, err
	}
	head := []field{{"siteId", q.name}, {"feature", q.feature}, {"month", q.at.Time().UTC().Format(models.Monthly)}}
	return namesAnswer(names, head, "values", "value"), nil
}

// top ranks the values of a feature.
func (s *Server) top(ctx context.Context, q question) (*answer, error) {
	found, err := s.stats.SiteTop(ctx, stats.TopQuery{Site: q.name, Feature: q.feature, Period: q.period, Metric: q.metric, Features: q.Features, Limit: q.limit})
	if err != nil {
		return nil, err
	}
	head := append(append(q.siteFields(), field{"feature", q.feature}, field{"metric", string(q.metric)}), periodFields(found.Period)...)
	head = append(head, field{"values", found.Values}, field{"complete", found.Complete}, field{"final", found.Final})
	return &answer{asOf: found.AsOf, head: head, list: &list{name: "top", columns: []string{"value", string(q.metric)}, complete: &found.Complete,
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
