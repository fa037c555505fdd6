package sqlite

import "footfall/models"

const (
	dayLayout  = "2006-01-02"
	hourLayout = "2006-01-02 15:04"
)

// day is the text of the start of a day, week or month.
func day(t models.Millis) any { return t.Time().Format(dayLayout) }

// hour is the text of the start of an hour: with the time of day, even at midnight.
func hour(t models.Millis) any { return t.Time().Format(hourLayout) }

// timeOf says how the times of a counter are written.
func timeOf(c models.Counter) func(models.Millis) any {
	if c.Interval == models.IntervalHour {
		return hour
	}
	return day
}
