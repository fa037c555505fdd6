package sqlite

import "footfall/models"

const (
	dayLayout  = "2006-01-02"
	hourLayout = "2006-01-02 15:04"
)

// day is the text of the start of a day, week or month.
func day(t models.Millis) string { return t.Time().Format(dayLayout) }

// bucket is the text of a cell's time: with the time of day for an hour, even at midnight.
func bucket(cell models.Cell) string {
	switch cell.Counter {
	case models.HourCounters, models.HourViews:
		return cell.At.Time().Format(hourLayout)
	}
	return day(cell.At)
}

// withFeatures adds the columns of the features.
func withFeatures(columns []any, f models.Features) []any {
	for _, value := range f.Values() {
		columns = append(columns, value)
	}
	return columns
}
