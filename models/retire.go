package models

import "time"

// IntervalEnd is the first moment after the interval that begins at start. interval is IntervalMonth, IntervalWeek or IntervalDay.
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

// Closed tells whether the row's interval is over at a moment. Rows of links are never closed: their visitors are counted once for all time.
func (s Sighting) Closed(at Millis) bool {
	return s.Keyspace == Cardinality && IntervalEnd(s.Interval, s.Start) <= at
}

// Counted is the counter of the visitors that have such a row. It is for sites only.
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

// Closed tells whether all that the visitor's row remembers is over at a moment: the month, its days, and the weeks that end in it.
func (v Visitor) Closed(at Millis) bool { return IntervalEnd(IntervalMonth, v.Month) <= at }
