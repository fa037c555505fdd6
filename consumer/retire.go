package main

import (
	"context"
	"fmt"
	"time"

	"footfall/consumer/maintenance"
	"footfall/models"
)

const retireHelp = `Removes the rows of GuidData that remember the visitors of months, weeks and days which
are over by the first of that month, in UTC. A week that is not over by then is left to a later
retire. Counts stay as they are. Visits before that day that arrive later are refused: they become
dead letters with the reason interval_retired, since without the rows consumers cannot tell whether
a visitor is new.

Consumers must be running. It waits, as long as --wait says, until they have counted all visits that
were in the log and no doubt about them is open. Then it audits the sites, however long that takes:
it removes nothing if a key is off, since a repair would need those rows. Then it reads all rows that
it will remove, and stops if a count is lower than the number of visitors who have rows, unless
--force is given. If it was stopped, run it again: it resumes.
`

// month reads a month that has begun, as YYYY-MM, and returns its first moment.
func month(text string, now time.Time) (models.Millis, error) {
	t, err := time.Parse("2006-01", text)
	if err != nil {
		return 0, fmt.Errorf("%q: want a month as YYYY-MM", text)
	}
	if t.After(now) {
		return 0, fmt.Errorf("%s: the month before it is not over", text)
	}
	if models.Millis(t.UnixMilli()) <= models.Earliest {
		return 0, fmt.Errorf("%s: visits are after March 1973", text)
	}
	return models.Millis(t.UnixMilli()), nil
}

func retire(ctx context.Context, t *task) error {
	return t.write(ctx, func(ctx context.Context) error {
		return guarded(ctx, func(ctx context.Context) error {
			return maintenance.RunRetire(ctx, t.cfg, t.store, t.before, t.wait, t.force, t.log, t.report)
		}, t.store)
	})
}
