package cassandra

import (
	"strings"

	"footfall/internal/cql"
	"footfall/models"
)

// statements is all the CQL, with the keyspaces' names filled in. gocql prepares each once. What is asked for is always bound.
type statements struct {
	longURL                   string
	total                     map[string]string // by table
	hours, days               string
	countries, referrers      string
	amounts, latest           string
	ranked                    []string // by the column whose values are a list: the site, then the features
	rankedLinks               string
	visits, counts            string
	values, sites, links      string
	progress, doubts, retired string
	setting                   string
}

func newStatements(n cql.Keyspaces, plan *models.Plan) statements {
	within := func(column string) string { return ` AND ` + column + ` >= ? AND ` + column + ` < ?` }
	link := func(columns, table, rest string) string {
		return `SELECT ` + columns + ` FROM ` + n.URLShortener + `.` + table + ` WHERE short_url = ?` + rest
	}
	features := plan.Features()
	key := ` WHERE siteId = ? AND month_interval_start = ? AND ` + strings.Join(features, ` = ? AND `) + ` = ?`
	some := ` AND metric_type = ?` + within(`interval_start`)
	s := statements{
		longURL:     link(`long_url`, `urls`, ``),
		total:       map[string]string{},
		hours:       link(`hour, value`, models.HourCounters, within(`hour`)+` ORDER BY hour ASC`),
		days:        link(`day, value`, models.DayCounters, within(`day`)+` ORDER BY day ASC`),
		countries:   link(`country, value`, models.CountryCounters, ``),
		referrers:   link(`referrer, value`, models.ReferrerCounters, ``),
		amounts:     link(`day, num_values, sum_values`, `amountcounters`, within(`day`)+` ORDER BY day ASC`),
		latest:      link(`at, country, referrer, ip, bot, id`, `latestclicks`, ` AND day = ?`),
		rankedLinks: `SELECT short_url, value FROM ` + n.URLShortener + `.` + models.DayCounters + ` WHERE short_url IN ? AND day = ?`,
		visits:      `SELECT interval_start, visits FROM ` + n.Cardinality + `.Counts` + key + some,
		counts:      `SELECT metric_type, interval_start, visits FROM ` + n.Cardinality + `.Counts` + key,
		values:      `SELECT value FROM ` + n.Cardinality + `.values_by_month WHERE siteId = ? AND month_interval_start = ? AND feature = ? AND bucket IN ?`,
		sites:       `SELECT siteId FROM ` + n.Cardinality + `.sites_by_month WHERE month_interval_start = ? AND siteId >= ? AND siteId <= ?`,
		links:       `SELECT short_url FROM ` + n.URLShortener + `.links_by_day WHERE day = ? AND bucket IN ? AND short_url >= ? AND short_url <= ?`,
		progress:    `SELECT topic, kafka_partition, counted, log_end, event_time, at FROM ` + n.Footfall + `.progress WHERE name = 'counted'`,
		doubts:      `SELECT topic FROM ` + n.Footfall + `.doubts`,
		setting:     `SELECT value FROM ` + n.Footfall + `.settings WHERE name = ?`,
		retired:     `SELECT before, state FROM ` + n.Footfall + `.retired WHERE name = 'visits'`,
	}
	columns := append([]string{`siteId`}, features...)
	for _, listed := range columns {
		key := ` WHERE month_interval_start = ?`
		for _, column := range columns {
			if column == listed {
				key += ` AND ` + column + ` IN ?`
			} else {
				key += ` AND ` + column + ` = ?`
			}
		}
		s.ranked = append(s.ranked, `SELECT `+listed+`, visits FROM `+n.Cardinality+`.Counts`+key+some)
	}
	for _, table := range []string{models.ClickCounter, models.UniqueCounter, models.BotCounter} {
		s.total[table] = link(`value`, table, ``)
	}
	return s
}
