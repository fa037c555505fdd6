package stats

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"

	"golang.org/x/sync/errgroup"

	"footfall/models"
)

const (
	// MaxCombined is how many combinations of values SiteMonth asks for. No list has those that were counted: all that could be have
	// to be asked for.
	MaxCombined = 10_000
	// maxCombinedBytes is how many bytes of values are kept to be combined: MaxCombined of the longest. A list that would need more is not.
	maxCombinedBytes = MaxCombined * models.MaxFeature
	// keysAtOnce is how many keys of a month are read at the same time, and are in memory.
	keysAtOnce = 16
)

// SiteMonth is all that is kept of a site's month. Its rows can be run through once.
type SiteMonth struct {
	Month   models.Millis // its start
	AsOf    AsOf
	Final   bool // no row changes any more
	Reading *Reading
	// Rows are those of the site, then those of each value of each feature, then those of combinations, in an order that stays. A row's
	// features are empty where any value counts. A week is in the month that its Monday is in.
	Rows iter.Seq2[SiteCount, error]
	// Combinations are known when all rows were run through.
	Combinations []Combination
	// Alive, if not nil, is told that the store goes on answering, also where nothing was counted.
	Alive func()
}

// SiteCount is a counter of a site under features, which are in the plan's order.
type SiteCount struct {
	Features []string
	Count
}

// Combination is two or more features whose values are combined.
type Combination struct {
	Features []string `json:"features"`
	Keys     int64    `json:"combinations"` // of listed values, counted or not
	Included bool     `json:"included"`     // false: there are too many, or their names are too long, and none is in the rows
}

// SiteMonth reads all that is kept of a site's month; month is any moment of it.
func (r *Reader) SiteMonth(ctx context.Context, site string, month models.Millis) (*SiteMonth, error) {
	if err := cmp.Or(checkSite(site), checkMoment("month", month)); err != nil {
		return nil, err
	}
	reading, err := r.begin(ctx, r.visits)
	if err != nil {
		return nil, err
	}
	as, seldom, err := r.asOf(ctx, r.visits)
	if err != nil {
		return nil, err
	}
	as.Doubts = reading.doubts
	m := &SiteMonth{Month: month.Month(), AsOf: as, Reading: reading}
	last := Month.End(m.Month)
	if slices.Contains(r.Plan().Metrics(), models.WeekUnique) {
		last = Week.End((last - 1).Week())
	}
	m.Final = last <= seldom.retired
	m.Rows = func(yield func(SiteCount, error) bool) { r.siteRows(ctx, site, m, yield) }
	return m, nil
}

// siteRows reads the keys of a month, some at a time.
func (r *Reader) siteRows(ctx context.Context, site string, m *SiteMonth, yield func(SiteCount, error) bool) {
	var keys []models.Key
	flush := func() bool {
		rows, err := r.counts(ctx, keys)
		if m.Alive != nil {
			m.Alive()
		}
		if err != nil {
			yield(SiteCount{}, err)
			return false
		}
		for i, key := range keys {
			for _, c := range rows[i] {
				if !yield(SiteCount{key.Features.Values(), c}, nil) {
					return false
				}
			}
		}
		keys = keys[:0]
		return true
	}
	for features, err := range r.monthKeys(ctx, site, m) {
		if err != nil {
			yield(SiteCount{}, err)
			return
		}
		if keys = append(keys, models.SiteKey(site, m.Month, features...)); len(keys) == keysAtOnce && !flush() {
			return
		}
	}
	flush()
}

// counts reads the counters of keys, sorted by metric and time.
func (r *Reader) counts(ctx context.Context, keys []models.Key) ([][]Count, error) {
	all, out := models.AllMetrics(), make([][]Count, len(keys))
	group, ctx := errgroup.WithContext(ctx)
	for i, key := range keys {
		group.Go(func() (err error) {
			out[i], err = r.store.Counts(ctx, key)
			slices.SortFunc(out[i], func(a, b Count) int {
				if a.Metric == b.Metric {
					return cmp.Compare(a.Start, b.Start)
				}
				return cmp.Compare(slices.Index(all, a.Metric), slices.Index(all, b.Metric))
			})
			return err
		})
	}
	return out, group.Wait()
}

// monthKeys are the features of all keys of a month: none, each value of each feature alone, and combinations as far as they are read.
func (r *Reader) monthKeys(ctx context.Context, site string, m *SiteMonth) iter.Seq2[[]string, error] {
	features := r.Plan().Features()
	return func(yield func([]string, error) bool) {
		if !yield(make([]string, len(features)), nil) {
			return
		}
		lists, room := make([]valueList, len(features)), maxCombinedBytes
		for i, feature := range features {
			for value, err := range r.store.Names(ctx, valuesOf(site, m.Month, feature), allNames) {
				key := make([]string, len(features))
				key[i] = value
				if !yield(key, err) || err != nil {
					return
				}
				lists[i].add(value, &room)
			}
		}
		m.Combinations = combinations(features, lists)
		for _, c := range m.Combinations {
			if c.Included && !combine(features, lists, c, yield) {
				return
			}
		}
	}
}

// valueList is a feature's values, as long as there are few enough to be combined, and room for them.
type valueList struct {
	values []string
	n      int64
	bytes  int  // of values
	large  bool // values are not kept
}

func (l *valueList) add(value string, room *int) {
	l.n++
	if l.large = l.large || l.n > MaxCombined || len(value) > *room; l.large {
		*room += l.bytes
		l.values, l.bytes = nil, 0
		return
	}
	*room -= len(value)
	l.values, l.bytes = append(l.values, value), l.bytes+len(value)
}

// combinations are the sets of two features and more, small sets first, then in the plan's order. Those are included that fit into
// MaxCombined together.
func combinations(features []string, lists []valueList) (out []Combination) {
	left := int64(MaxCombined)
	for size := 2; size <= len(features); size++ {
		for set := range 1 << len(features) {
			c, large := Combination{Keys: 1}, false
			for i, feature := range features {
				if set>>i&1 == 1 {
					c.Features = append(c.Features, feature)
					c.Keys = product(c.Keys, lists[i].n)
					large = large || lists[i].large
				}
			}
			if len(c.Features) != size {
				continue
			}
			if c.Included = c.Keys <= left && (c.Keys == 0 || !large); c.Included {
				left -= c.Keys
			}
			out = append(out, c)
		}
	}
	return out
}

// product is that of numbers that are not negative, or the largest number.
func product(a, b int64) int64 {
	if b > 0 && a > math.MaxInt64/b {
		return math.MaxInt64
	}
	return a * b
}

// combine yields every combination of a set's values. It counts as a clock does, the last feature fastest.
func combine(features []string, lists []valueList, c Combination, yield func([]string, error) bool) bool {
	var places []int
	for _, name := range c.Features {
		places = append(places, slices.Index(features, name))
	}
	for n := range c.Keys {
		key := make([]string, len(features))
		for _, i := range slices.Backward(places) {
			values := lists[i].values
			key[i] = values[n%int64(len(values))]
			n /= int64(len(values))
		}
		if !yield(key, nil) {
			return false
		}
	}
	return true
}
