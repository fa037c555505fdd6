package e2e

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/models"
	"footfall/test/e2e/process"
)

// million is how many values the site has. Rows are written straight into the list: to count a million pages takes too long.
const million = 1_000_000

// TestAMillionRowsTakeLittleMemory reads a list as CSV from the real stores, by a client that reads slowly and meanwhile by one that reads
// as fast as it can. Both get each value once, and the reader's heap stays below 50 MB.
func TestAMillionRowsTakeLittleMemory(t *testing.T) {
	t.Parallel()
	values := make([]string, million)
	for i := range values {
		values[i] = fmt.Sprintf("/page-%d.html", i)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(models.NameBucket(a), models.NameBucket(b)) }) // a batch is in one partition
	t.Run("embedded", func(t *testing.T) {
		d := newEmbedded(t)
		began := time.Now()
		fillSQLite(t, filepath.Join(d.data, "cardinality.db"), values)
		t.Logf("filled in %v", time.Since(began).Round(time.Second))
		readMillion(t, d.reader, d.admin)
	})
	t.Run("real", func(t *testing.T) {
		d := prepareReal(t, byDefault)
		began := time.Now()
		insert(t, d.session, rowKind{rows: million, statement: "INSERT INTO cardinality" + d.suffix + ".values_by_month" +
			" (siteId, month_interval_start, feature, bucket, value) VALUES ('large', '2018-10-01', 'feature2', ?, ?)",
			values: func(i int, _ *rand.Rand) []any { return []any{models.NameBucket(values[i]), values[i]} }}, million)
		t.Logf("filled in %v", time.Since(began).Round(time.Second))
		url, admin := d.startReaderWithMetrics(t)
		readMillion(t, url, admin)
	})
}

// fillSQLite lists the values beside the process that has the database open.
func fillSQLite(t *testing.T, path string, values []string) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?mode=rw&_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for chunk := range slices.Chunk(values, 100_000) {
		var rows [][2]string
		for _, value := range chunk {
			rows = append(rows, [2]string{models.NameBucket(value), value})
		}
		text, err := json.Marshal(rows)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "INSERT INTO values_by_month (siteId, month_interval_start, feature, bucket, value)"+
			" SELECT 'large', '2018-10-01', 'feature2', value ->> 0, value ->> 1 FROM json_each(?)", string(text)); err != nil {
			t.Fatal(err)
		}
	}
}

// readMillion reads the values twice at once, and watches the heap.
func readMillion(t *testing.T, reader, admin string) {
	t.Helper()
	const most = 50e6
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	heap := make(chan []float64, 1)
	go func() { heap <- watchHeap(ctx, admin) }()
	url := reader + "/v1/stats/sites/large/values/feature2?month=2018-10&format=csv"
	var group errgroup.Group
	for name, pause := range map[string]time.Duration{"the slow client": 20 * time.Millisecond, "the fast client": 0} {
		group.Go(func() error {
			began := time.Now()
			err := readValues(ctx, url, pause)
			t.Logf("%s took %v", name, time.Since(began).Round(100*time.Millisecond))
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	stop()
	measured := <-heap
	if len(measured) < 10 || slices.Max(measured) >= most {
		t.Errorf("%d measurements of the heap, in MB %.0f: want all below %.0f", len(measured), scaled(measured, 1e6), most/1e6)
	}
	t.Logf("heap: %.0f MB at first, %.0f MB at the most", measured[0]/1e6, slices.Max(measured)/1e6)
}

func scaled(values []float64, by float64) (out []float64) {
	for _, v := range values {
		out = append(out, v/by)
	}
	return out
}

// watchHeap measures the bytes of the heap, garbage included, until ctx ends.
func watchHeap(ctx context.Context, admin string) (all []float64) {
	for ctx.Err() == nil {
		if m, err := process.Metrics(ctx, admin); err == nil {
			all = append(all, m["go_memstats_heap_alloc_bytes"])
		}
		select {
		case <-ctx.Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	return all
}

// readValues reads a CSV, with a pause before each 32 KB, and checks that it has each value once.
func readValues(ctx context.Context, url string, pause time.Duration) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if pause > 0 {
		request.Header.Set("Accept-Encoding", "identity") // compressed, most of it would wait in the buffers of the connection
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // only read
	seen, n := make([]bool, million), 0
	lines := bufio.NewScanner(bufio.NewReaderSize(&slowly{response.Body, pause}, 32<<10))
	if !lines.Scan() || lines.Text() != "value" {
		return fmt.Errorf("%s, and the first line is %q", response.Status, lines.Text())
	}
	for lines.Scan() {
		number := strings.TrimSuffix(strings.TrimPrefix(lines.Text(), "/page-"), ".html")
		i, err := strconv.Atoi(number)
		if err != nil || i >= million || seen[i] {
			return fmt.Errorf("line %d is %q: no value, or one that came before", n+2, lines.Text())
		}
		seen[i] = true
		n++
	}
	if n != million {
		return fmt.Errorf("%d of %d values: %w", n, million, cmp.Or(lines.Err(), io.ErrUnexpectedEOF))
	}
	return nil
}

// slowly pauses before each read.
type slowly struct {
	io.Reader
	pause time.Duration
}

func (s *slowly) Read(p []byte) (int, error) {
	time.Sleep(s.pause)
	return s.Reader.Read(p)
}
