package cassandra

import (
	"slices"
	"strings"

	"footfall/internal/cql"
	"footfall/internal/tables"
	"footfall/models"
)

// statements is all the CQL, with the keyspaces' names filled in. gocql prepares each once. What is asked for is always bound.
type statements struct {
	longURL                   string
	counter                   map[string]counter // by name
	amounts, latest, counts   string
	list                      map[string]string // by name
	progress, doubts, retired string
}

// counter is what is asked of a counter.
type counter struct {
	models.Counter
	total  string   // without interval and label
	points string   // with an interval
	shares string   // with a label
	ranked []string // by the column of the key, of which there is a list of values
}

func newStatements(n cql.Keyspaces, schema tables.Schema) statements {
	urls, latest := models.TableOf(models.URLShortener, "urls"), models.TableOf(models.URLShortener, models.LatestClicks)
	counts := models.TableOf(models.Cardinality, models.SiteCounts)
	num, _ := models.CounterOf(models.NumValues)
	s := statements{
		longURL:  schema.Select(urls, `long_url`, urls.Partition),
		counter:  map[string]counter{},
		amounts:  schema.Cells(num, `day, num_values, sum_values`) + ` ORDER BY day ASC`,
		latest:   schema.Select(latest, `toTimestamp(at), country, referrer, ip, bot, id`, latest.Partition),
		counts:   schema.Select(counts, `metric_type, interval_start, visits`, counts.Partition),
		list:     map[string]string{},
		progress: `SELECT topic, kafka_partition, counted, log_end, event_time, at FROM ` + n.Footfall + `.progress WHERE name = 'counted'`,
		doubts:   `SELECT topic FROM ` + n.Footfall + `.doubts`,
		retired:  `SELECT before, state FROM ` + n.Footfall + `.retired WHERE name = 'visits'`,
	}
	for _, c := range schema.Plan.Counters() {
		table, start, label := models.TableOf(c.Keyspace, c.Table), c.ColumnOf(models.KindTime), c.ColumnOf(models.KindText)
		of := counter{Counter: c, total: schema.Cells(c, c.Column), points: schema.Cells(c, start+`, `+c.Column), shares: schema.Cells(c, label+`, `+c.Column)}
		if table.NewestFirst {
			of.points += ` ORDER BY ` + start + ` ASC`
		}
		key := schema.Plan.ColumnNames(table.Partition)
		for i, listed := range key {
			where := slices.Clone(key)
			for j := range where {
				where[j] += map[bool]string{true: ` IN ?`, false: ` = ?`}[i == j]
			}
			of.ranked = append(of.ranked, `SELECT `+listed+`, `+c.Column+` FROM `+schema.Name(table)+` WHERE `+strings.Join(where, ` AND `)+schema.Range(c))
		}
		s.counter[c.Name] = of
	}
	for _, list := range models.Lists {
		name := list.Rows[0].Name
		one := schema.Select(list, name, list.Partition) + ` AND ` + name + ` >= ? AND ` + name + ` <= ?`
		s.list[list.Name] = strings.Replace(one, ` bucket = ?`, ` bucket IN ?`, 1)
	}
	return s
}
