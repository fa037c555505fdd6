package cassandra

import (
	"strings"

	"footfall/consumer/cassandra/visitorrow"
	"footfall/internal/cql"
	"footfall/models"
)

// statements is the CQL of the data path, with the names of the keyspaces. gocql prepares each once.
type statements struct {
	counter       map[string]string // by models.Cell.Counter
	read          map[string]string // by models.Cell.Counter
	ledger        map[models.Keyspace]string
	extend        map[models.Keyspace]string // as ledger, for a row whose from_offset stays
	readLedger    map[models.Keyspace]string
	seen          string // of links' visitors
	remember      string
	siteCells     string // all counters of a site's key
	latest        string
	list          map[string]string // by models.Name.List
	rememberUntil string            // of a link's visitor, with a TTL
	readFirstRows string            // of visitors
	readRows      string
	insertEntry   string // of a visitor's row
}

func newStatements(n cql.Keyspaces, plan *models.Plan) statements {
	counts := `siteId = ? AND month_interval_start = ? AND ` + strings.Join(plan.Features(), " = ? AND ") + ` = ?`
	const shortURL, ledger = `short_url = ?`, ` AND topic = ? AND kafka_partition = ? AND kind = ? AND epoch = ?`
	s := statements{
		siteCells:  `SELECT metric_type, interval_start, visits FROM ` + n.Cardinality + `.Counts WHERE ` + counts,
		list:       listStatements(n),
		counter:    map[string]string{},
		read:       map[string]string{},
		ledger:     map[models.Keyspace]string{},
		extend:     map[models.Keyspace]string{},
		readLedger: map[models.Keyspace]string{},
		seen: `SELECT short_url, ip, topic, kafka_partition, kafka_offset FROM ` + n.URLShortener +
			`.uniquecounterips WHERE short_url IN ? AND ip IN ?`,
		remember: `INSERT INTO ` + n.URLShortener + `.uniquecounterips (short_url, ip, topic, kafka_partition, kafka_offset) VALUES (?, ?, ?, ?, ?)`,
	}
	rows := visitorrow.Of(n.Cardinality, plan)
	of := rows.Select() + ` WHERE siteId = ? AND month_interval_start = ? AND bucket IN ?`
	s.readFirstRows, s.readRows, s.insertEntry = of+` AND guid IN ? AND under = ''`, of+` AND (guid, under) IN ?`, rows.Insert()
	s.rememberUntil = s.remember + ` USING TTL ?`
	s.latest = `INSERT INTO ` + n.URLShortener + `.latestclicks (short_url, day, at, country, referrer, ip, bot, id)` +
		` VALUES (?, ?, ?, ?, ?, ?, ?, ?) USING TIMESTAMP ? AND TTL ?`
	for keyspace, key := range map[models.Keyspace]struct{ name, where string }{
		models.URLShortener: {n.URLShortener, shortURL},
		models.Cardinality:  {n.Cardinality, counts},
	} {
		table := key.name + `.applied`
		s.ledger[keyspace] = `UPDATE ` + table + ` SET from_offset = from_offset + ?, to_offset = to_offset + ? WHERE ` + key.where + ledger
		s.extend[keyspace] = `UPDATE ` + table + ` SET to_offset = to_offset + ? WHERE ` + key.where + ledger
		s.readLedger[keyspace] = `SELECT topic, kafka_partition, kind, epoch, from_offset, to_offset FROM ` + table + ` WHERE ` + key.where
	}
	for counter, clustering := range map[string]string{
		models.ClickCounter:     "",
		models.UniqueCounter:    "",
		models.BotCounter:       "",
		models.HourCounters:     ` AND hour = ?`,
		models.DayCounters:      ` AND day = ?`,
		models.CountryCounters:  ` AND country = ?`,
		models.ReferrerCounters: ` AND referrer = ?`,
	} {
		table, where := n.URLShortener+"."+counter, ` WHERE `+shortURL+clustering
		s.counter[counter] = `UPDATE ` + table + ` SET value = value + ?` + where
		s.read[counter] = `SELECT value FROM ` + table + where
	}
	for _, column := range []string{models.NumValues, models.SumValues} {
		table, where := n.URLShortener+".amountcounters", ` WHERE `+shortURL+` AND day = ?`
		s.counter[column] = `UPDATE ` + table + ` SET ` + column + ` = ` + column + ` + ?` + where
		s.read[column] = `SELECT ` + column + ` FROM ` + table + where
	}
	for _, metric := range plan.Metrics() {
		table, where := n.Cardinality+".Counts", ` WHERE `+counts+` AND metric_type = ? AND interval_start = ?`
		s.counter[metric] = `UPDATE ` + table + ` SET visits = visits + ?` + where
		s.read[metric] = `SELECT visits FROM ` + table + where
	}
	return s
}

// keyArgs are the values of a key's partition key columns.
func keyArgs(k models.Key) []any {
	if k.Keyspace == models.URLShortener {
		return []any{k.Name}
	}
	args := []any{k.Name, k.Month.Time()}
	for _, f := range k.Features.Values() {
		args = append(args, f)
	}
	return args
}

// appendCell appends the values of a cell's clustering columns.
func appendCell(args []any, c models.Cell) []any {
	switch c.Counter {
	case models.ClickCounter, models.UniqueCounter, models.BotCounter:
		return args
	case models.HourCounters, models.DayCounters, models.NumValues, models.SumValues:
		return append(args, c.At.Time())
	case models.CountryCounters, models.ReferrerCounters:
		return append(args, c.Label)
	}
	return append(args, c.Counter, c.At.Time())
}
