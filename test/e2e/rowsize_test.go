package e2e

import (
	"context"
	"crypto/md5"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"golang.org/x/sync/errgroup"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/process"
)

// rowKind is one kind of row, as footfall writes it; values are those of the i-th row of a partition.
type rowKind struct {
	table     string // with its keyspace
	name      string
	rows      int
	statement string
	values    func(i int, r *rand.Rand) []any
}

// Rows without counters are written over a month, or those of a day over that day, as in production: Cassandra stores timestamps as
// differences, which take more bytes the larger they are.
const atMoment = " USING TIMESTAMP ?"

func writtenAt(r *rand.Rand) int64 { return writtenWithin(31, r) }

func writtenWithin(days int64, r *rand.Rand) int64 {
	return time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC).UnixMicro() + r.Int64N(days*24*3600*1e6)
}

const (
	insertIP     = "INSERT INTO urlshortener.uniquecounterips (short_url, ip, topic, kafka_partition, kafka_offset) VALUES ('abc', ?, 'clicks', ?, ?)" + atMoment
	insertEntry  = "INSERT INTO cardinality.GuidData (siteId, month_interval_start, bucket, guid, under, topic, kafka_partition, kafka_offset, seen) VALUES ('site1', '2026-10-01', '00', ?, '', 'visits', ?, ?, ?)" + atMoment
	updateCounts = "UPDATE cardinality.Counts SET visits = visits + ? WHERE siteId = 'site1' AND month_interval_start = '2026-10-01' AND feature1 = '' AND feature2 = '' AND metric_type = 'hour_views' AND interval_start = ?"
	updateLedger = "UPDATE cardinality.applied SET from_offset = from_offset + ?, to_offset = to_offset + ? WHERE siteId = 'site1' AND month_interval_start = '2026-10-01' AND feature1 = '' AND feature2 = '' AND topic = 'visits' AND kafka_partition = ? AND kind = 'owner' AND epoch = ?"
	updateHour   = "UPDATE urlshortener.hourcounters SET value = value + ? WHERE short_url = 'abc' AND hour = ?"
	insertLatest = "INSERT INTO urlshortener.latestclicks (short_url, day, at, country, referrer, ip, bot, id) VALUES ('abc', '2026-10-01', ?, 'IT', 'www.facebook.com', ?, false, ?) USING TTL 604800"
	updateAmount = "UPDATE urlshortener.amountcounters SET num_values = num_values + ?, sum_values = sum_values + ? WHERE short_url = 'abc' AND day = ?"
	insertLink   = "INSERT INTO urlshortener.links_by_day (day, bucket, short_url) VALUES ('2026-10-01', '0', ?)" + atMoment
	insertValue  = "INSERT INTO cardinality.values_by_month (siteId, month_interval_start, feature, bucket, value) VALUES ('site1', '2026-10-01', 'page', '0', ?)" + atMoment
	updateFrom   = "UPDATE urlshortener.referrercounters SET value = value + ? WHERE short_url = 'abc' AND referrer = ?"
)

func offset(r *rand.Rand) int64 { return r.Int64N(1e9) }

var rowKinds = []rowKind{
	{"urlshortener.uniquecounterips", "IPv4", 200_000, insertIP, func(i int, r *rand.Rand) []any {
		x := uint32(i) * 2654435761 // an odd factor: a different address for every i, spread over all
		return []any{fmt.Sprintf("%d.%d.%d.%d", x>>24, x>>16&0xff, x>>8&0xff, x&0xff), r.IntN(6), offset(r), writtenAt(r)}
	}},
	{"urlshortener.uniquecounterips", "IPv6", 200_000, insertIP, func(i int, r *rand.Rand) []any {
		return []any{fmt.Sprintf("2001:db8:%x:%x:%x:%x:%x:%x", r.IntN(1<<16), i>>16, i&0xffff, r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16)), r.IntN(6), offset(r), writtenAt(r)}
	}},
	{"cardinality.GuidData", "guid, two features", 200_000, insertEntry, func(i int, r *rand.Rand) []any {
		// Each visitor has four entries: of the first visit, and of three others to pages that are new to it.
		sum := md5.Sum([]byte(strconv.Itoa(i / 4)))
		guid := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:])
		set := []string{"f", "c", "c", "c"}[i%4]
		seen := []string{fmt.Sprintf("2026-10-%02d", 1+r.IntN(31)), "month:" + set + " week:" + set + " day:" + set, "facebook.com", fmt.Sprintf("/products/index%d.html", i%4)}
		return []any{guid, i / 4 % 6, offset(r), seen, writtenAt(r)}
	}},
	{"urlshortener.latestclicks", "a click", 200_000, insertLatest, func(i int, r *rand.Rand) []any {
		at := gocql.UUIDFromTime(time.Date(2026, 10, 1, 0, 0, 0, i*400_000, time.UTC)) // over a day
		return []any{at, fmt.Sprintf("%d.%d.%d.%d", r.IntN(256), r.IntN(256), r.IntN(256), r.IntN(256)), at.String()}
	}},
	{"urlshortener.links_by_day", "a link", 200_000, insertLink, func(i int, r *rand.Rand) []any {
		return []any{fmt.Sprintf("%08x", uint32(i)*2654435761), writtenWithin(1, r)}
	}},
	{"cardinality.values_by_month", "a page", 200_000, insertValue, func(i int, r *rand.Rand) []any {
		return []any{fmt.Sprintf("/products/%d/index.html", i), writtenAt(r)}
	}},
	{"urlshortener.amountcounters", "a day", 3_650, updateAmount, func(i int, r *rand.Rand) []any {
		return []any{1 + r.Int64N(1e6), offset(r), time.Date(2026, 10, 1+i, 0, 0, 0, 0, time.UTC)}
	}},
	{"cardinality.Counts", "an hour", 744, updateCounts, func(i int, r *rand.Rand) []any {
		return []any{1 + r.Int64N(1e6), time.Date(2026, 10, 1, i, 0, 0, 0, time.UTC)}
	}},
	{"cardinality.applied", "an epoch", 6_000, updateLedger, func(i int, r *rand.Rand) []any {
		return []any{offset(r), offset(r), i % 6, int64(i / 6)}
	}},
	{"urlshortener.hourcounters", "an hour", 20_000, updateHour, func(i int, r *rand.Rand) []any {
		return []any{1 + r.Int64N(1e6), time.Date(2026, 10, 1, i, 0, 0, 0, time.UTC)}
	}},
	{"urlshortener.referrercounters", "a host", 20_000, updateFrom, func(i int, r *rand.Rand) []any {
		return []any{1 + r.Int64N(1e6), fmt.Sprintf("www.site-%d.example.com", i)}
	}},
}

// BenchmarkRowSize measures how many bytes a row of each table takes in Cassandra, in one partition, flushed and compacted, not how fast
// it is written. docs/model.md has the figures. It also checks that Cassandra warns of a large partition.
//
//	go test ./test/e2e -run '^$' -bench RowSize -benchtime 1x
func BenchmarkRowSize(b *testing.B) {
	node := stacktest.Cassandra(b, 1, func(c *stack.Cassandra) { c.HeapMB = 1024 })[0]
	session := migrated(b, node)
	for _, k := range rowKinds {
		b.Run(k.table+" "+k.name, func(b *testing.B) {
			plain, packed := weigh(b, node, session, k)
			b.ReportMetric(plain/float64(k.rows), "B/row")
			b.ReportMetric(packed/float64(k.rows), "B/row-on-disk")
			b.ReportMetric(0, "ns/op")
			if k.rows < 200_000 {
				return
			}
			b.ReportMetric(100e6/plain*float64(k.rows), "rows-at-100MB")
		})
	}
	b.Run("alarm", func(b *testing.B) { largePartition(b, node, session) })
}

// migrated runs the real migrations.
func migrated(b *testing.B, node *stack.Cassandra) *gocql.Session {
	b.Helper()
	dir := b.TempDir()
	if err := process.Build(b.Context(), dir, "consumer"); err != nil {
		b.Fatal(err)
	}
	migrate := process.Command{Name: "migrate", Path: filepath.Join(dir, "consumer"), Args: []string{"migrate"}, Dir: dir,
		Env: []string{"FOOTFALL_CASSANDRA_HOSTS=" + node.Address, "FOOTFALL_CASSANDRA_PORT=" + strconv.Itoa(node.Port)}}
	if _, err := process.Run(b.Context(), migrate); err != nil {
		b.Fatal(err)
	}
	cluster := gocql.NewCluster(node.Address)
	cluster.Port, cluster.ProtoVersion, cluster.Timeout, cluster.DisableInitialHostLookup = node.Port, 4, time.Minute, true
	session, err := cluster.CreateSession()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(session.Close)
	return session
}

// weigh writes the rows into an empty table and returns the bytes of its data file: without compression, as Cassandra counts the size of
// partitions, and compressed, as on disk.
func weigh(b *testing.B, node *stack.Cassandra, session *gocql.Session, k rowKind) (plain, packed float64) {
	b.Helper()
	for _, compression := range []string{"{'enabled': 'false'}", "{'class': 'LZ4Compressor'}"} {
		for _, cql := range []string{"TRUNCATE " + k.table, "ALTER TABLE " + k.table + " WITH compression = " + compression} {
			if err := session.Query(cql).Exec(); err != nil {
				b.Fatal(err)
			}
		}
		insert(b, session, k, k.rows)
		var rows int
		if err := session.Query("SELECT COUNT(*) FROM " + k.table).Scan(&rows); err != nil || rows != k.rows {
			b.Fatalf("%d rows, want %d: %v", rows, k.rows, err)
		}
		plain, packed = packed, dataSize(b, node, k.table)
	}
	return plain, packed
}

// insert writes batches within one partition, as a consumer does.
func insert(t testing.TB, session *gocql.Session, k rowKind, rows int) {
	t.Helper()
	kind := gocql.UnloggedBatch
	if strings.HasPrefix(k.statement, "UPDATE") {
		kind = gocql.CounterBatch
	}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(64)
	const size = 64
	for from := 0; from < rows; from += size {
		group.Go(func() error {
			r := rand.New(rand.NewPCG(1, uint64(from)))
			batch := session.NewBatch(kind).WithContext(ctx)
			for i := from; i < min(from+size, rows); i++ {
				batch.Query(k.statement, k.values(i, r)...)
			}
			return session.ExecuteBatch(batch)
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// dataSize is the size of a table's data file after all files were compacted into one.
func dataSize(b *testing.B, node *stack.Cassandra, table string) (size float64) {
	b.Helper()
	keyspace, name, _ := strings.Cut(strings.ToLower(table), ".")
	for _, command := range []string{"flush", "compact"} {
		if _, err := node.Nodetool(b.Context(), command, keyspace, name); err != nil {
			b.Fatal(err)
		}
	}
	tells, err := node.Nodetool(b.Context(), "tablestats", keyspace+"."+name)
	if err != nil || !strings.Contains(tells, "SSTable count: 1") {
		b.Fatalf("%v\n%s", err, tells)
	}
	b.Log(regexp.MustCompile(`Compacted partition maximum bytes: \d+`).FindString(tells))
	live := regexp.MustCompile(`-Data\.db$`)
	err = filepath.WalkDir(node.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !live.MatchString(path) || !strings.Contains(path, "/"+keyspace+"/"+name+"-") {
			return nil //nolint:nilerr // files of compactions come and go
		}
		if info, err := d.Info(); err == nil {
			size += float64(info.Size())
		}
		return nil
	})
	if err != nil || size == 0 {
		b.Fatalf("no data files of %s: %v", table, err)
	}
	return size
}

// largePartition fills a link beyond the threshold in deployments/stack/cassandra.yaml.tmpl and looks for the warning.
func largePartition(b *testing.B, node *stack.Cassandra, session *gocql.Session) {
	const rows = 1_400_000
	insert(b, session, rowKinds[1], rows)
	b.Logf("%d IPs in %.0f bytes", rows, dataSize(b, node, "urlshortener.uniquecounterips"))
	warned := regexp.MustCompile(`.*WARN.*[Gg]uardrail partition_size.*`)
	ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
	defer cancel()
	for {
		log, err := os.ReadFile(node.Log())
		if err != nil {
			b.Fatal(err)
		}
		if line := warned.Find(log); line != nil {
			b.Logf("%s", line)
			return
		}
		select {
		case <-ctx.Done():
			b.Fatal("no warning in the node's log")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
