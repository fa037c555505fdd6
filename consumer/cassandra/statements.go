package cassandra

import (
	"footfall/internal/tables"
	"footfall/models"
)

// statements is the CQL of the data path, with the names of the keyspaces. gocql prepares each once.
type statements struct {
	counter       map[string]counter // by models.Cell.Counter
	ledger        map[models.Keyspace]string
	extend        map[models.Keyspace]string // as ledger, for a row whose from_offset stays
	readLedger    map[models.Keyspace]string
	seen          string // of links' visitors
	remember      string
	siteCells     string // all counters of a site's key
	latest        string
	list          map[string]list // by models.Name.List
	rememberUntil string          // of a link's visitor, with a TTL
	readFirstRows string          // of visitors
	readRows      string
	insertEntry   string // of a visitor's row
}

// counter adds to a counter, and reads it.
type counter struct {
	add, read string
	rows      []models.Column // whose values tell its cells apart
}

func newStatements(schema tables.Schema) statements {
	ips, counts := models.TableOf(models.URLShortener, models.LinkVisitors), models.TableOf(models.Cardinality, models.SiteCounts)
	s := statements{
		siteCells:  schema.Select(counts, `metric_type, interval_start, visits`, counts.Partition),
		list:       map[string]list{},
		counter:    map[string]counter{},
		ledger:     map[models.Keyspace]string{},
		extend:     map[models.Keyspace]string{},
		readLedger: map[models.Keyspace]string{},
		seen:       `SELECT ` + schema.List(ips.Partition, ips.Rows, ips.Values) + ` FROM ` + schema.Name(ips) + ` WHERE short_url IN ? AND ip IN ?`,
		remember:   schema.Insert(ips),
		latest:     schema.Insert(models.TableOf(models.URLShortener, models.LatestClicks)) + ` USING TIMESTAMP ? AND TTL ?`,
	}
	s.rememberUntil = s.remember + ` USING TTL ?`
	rows := guidData
	of := `SELECT ` + schema.List(rows.Rows, rows.Values) + ` FROM ` + schema.Name(rows) + ` WHERE siteId = ? AND month_interval_start = ? AND bucket IN ?`
	s.readFirstRows, s.readRows, s.insertEntry = of+` AND guid IN ? AND under = ''`, of+` AND (guid, under) IN ?`, schema.Insert(rows)
	for i, of := range models.Lists {
		s.list[of.Name] = list{schema.Insert(of), int32(i), len(of.Partition)}
	}
	for _, keyspace := range []models.Keyspace{models.URLShortener, models.Cardinality} {
		ledger := models.TableOf(keyspace, models.LedgerTable)
		update, row := `UPDATE `+schema.Name(ledger)+` SET `, ` WHERE `+schema.Equal(ledger.Partition, ledger.Rows)
		s.ledger[keyspace] = update + `from_offset = from_offset + ?, to_offset = to_offset + ?` + row
		s.extend[keyspace] = update + `to_offset = to_offset + ?` + row
		s.readLedger[keyspace] = schema.Select(ledger, schema.List(ledger.Rows, ledger.Values), ledger.Partition)
	}
	for _, c := range schema.Plan.Counters() {
		table := models.TableOf(c.Keyspace, c.Table)
		s.counter[c.Name] = counter{
			add:  `UPDATE ` + schema.Name(table) + ` SET ` + c.Column + ` = ` + c.Column + ` + ? WHERE ` + schema.Equal(table.Partition, table.Rows),
			read: schema.Select(table, c.Column, table.Partition, table.Rows),
			rows: table.Rows,
		}
	}
	return s
}

// keyArgs are the values of a key's partition key columns.
func keyArgs(k models.Key) []any { return tables.AppendKey(nil, k, tables.Moment) }
