package models

import "time"

// IntervalEnd is the first moment after an interval of this kind that begins at start.
func IntervalEnd(interval string, start Millis) Millis {
	switch interval {
	case IntervalMonth:
		y, m, _ := start.Time().Date()
		return Millis(time.Date(y, m+1, 1, 0, 0, 0, 0, time.UTC).UnixMilli())
	case IntervalWeek:
		return start + 7*day
	}
	return start + day
}

// Closed tells whether the row belongs to an interval of a site that is over at a moment. Links have no intervals: their
// visitors are counted once for all time.
func (s Sighting) Closed(at Millis) bool {
	return s.Keyspace == Cardinality && IntervalEnd(s.Interval, s.Start) <= at
}

// Counted is the counter that holds how many visitors have such a row. It is for sites.
func (s Sighting) Counted() (Key, Cell) {
	key := Key{Keyspace: Cardinality, Name: s.Name, Features: s.Features}
	for _, u := range uniques {
		if u.name == s.Interval {
			key.Month = u.month(s.Start)
			return key, Cell{Counter: u.metric, At: s.Start}
		}
	}
	return key, Cell{}
}
