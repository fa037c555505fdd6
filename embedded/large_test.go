package main

import (
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

// A log of 2 GB, as a larger data.log_bytes may have left it: go test ./embedded -run LargeLog -log.bytes 2000000000 -log.rss 300
var (
	logBytes = flag.Int64("log.bytes", 100_000_000, "size of the log that TestLargeLog starts with")
	logRSS   = flag.Int64("log.rss", 0, "most memory in MB for it, with the defaults; 0: 160 MB with a small window and bound")
)

// TestLargeLog: footfall was killed with a large log, all of it counted. It starts again with little memory, trims the log, and still has
// the counts, the last ids and the offsets.
func TestLargeLog(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("writes a large log, and measures memory")
	}
	env, most := []string{}, *logRSS
	if most == 0 {
		env, most = []string{"FOOTFALL_DUPLICATES_WINDOW=5000", "FOOTFALL_DATA_LOG_BYTES=16777216"}, 160
	}
	dir := t.TempDir()
	p := launch(t, dir, env...)
	terminate(t, p)
	ends := fill(t, dir, *logBytes)
	claim(t, dir, ends)

	r := reader(t, dir)
	for run := range int64(3) {
		begin := time.Now()
		p = launch(t, dir, env...)
		took := time.Since(begin)
		for i := range 300 * (run + 1) { // includes the ids of former runs
			mustPost(t, p.url, click(fmt.Sprintf("event-%d", i), fmt.Sprintf("10.0.%d.%d", i/256, i%256), "2018-10-01 14:05"))
		}
		eventually(t, r, 300*(run+1), clicks)
		eventually(t, r, 300*(run+1), "SELECT value FROM urlshortener.uniquecounter WHERE short_url = 'abc'")
		rss, left := peak(t, p), size(t, dir)
		t.Logf("run %d: ready after %v, %d MB at the most, %d MB of %d MB of log left", run, took.Round(time.Millisecond), rss, left/1e6, *logBytes/1e6)
		if rss > most {
			t.Errorf("run %d: %d MB of memory for a log of %d MB, want %d MB at the most", run, rss, *logBytes/1e6, most)
		}
		if left > *logBytes/4 {
			t.Errorf("run %d: %d MB of log are left", run, left/1e6)
		}
		if err := p.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.cmd.Wait()
	}
	for partition, end := range ends {
		if got := number(t, r, "SELECT committed FROM footfall.owners WHERE topic || '-' || kafka_partition = ?", partition); got < end {
			t.Errorf("partition %s was counted up to %d, now up to %d", partition, end, got)
		}
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fill writes so many bytes of single events to the log of a stopped footfall, in segments as the broker makes them, and returns the end
// of each partition.
func fill(t *testing.T, dir string, bytes int64) map[string]int64 {
	t.Helper()
	const segment = 1 << 20
	ends := map[string]int64{}
	for _, topic := range []string{"clicks", "visits"} {
		for p := range 6 {
			name := fmt.Sprintf("%s-%d", topic, p)
			at := filepath.Join(dir, "broker", "partitions", name)
			if err := os.MkdirAll(at, 0o755); err != nil {
				t.Fatal(err)
			}
			offset := int64(0)
			for left := bytes / 12; left > 0; left -= segment {
				var data, index []byte
				base := offset
				for int64(len(data)) < min(left, segment) {
					data = appendBatch(data, offset)
					index = append(index, 1, byte(crc32.Checksum(make([]byte, 13), castagnoli)), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
					offset++
				}
				for ending, content := range map[string][]byte{".dat": data, ".idx": index} {
					if err := os.WriteFile(filepath.Join(at, strconv.FormatInt(base, 10)+ending), content, 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			ends[name] = offset
		}
	}
	return ends
}

// appendBatch appends a record batch of one event, as Kafka has it on the wire.
func appendBatch(to []byte, offset int64) []byte {
	now := time.Now().UnixMilli()
	key := fmt.Sprintf("abc\x00198.51.100.%d", offset%256)
	value, _ := json.Marshal(map[string]any{"v": 1, "id": fmt.Sprintf("filler-%d", offset), "short_url": "abc", "ip": "198.51.100.7", "country": "IT", "ts": now})
	record := []byte{0, 0, 0} // attributes, and the differences of time and offset
	record = binary.AppendVarint(record, int64(len(key)))
	record = append(record, key...)
	record = binary.AppendVarint(record, int64(len(value)))
	record = append(append(record, value...), 0)
	sized := append(binary.AppendVarint(nil, int64(len(record))), record...)

	begin := len(to)
	to = binary.BigEndian.AppendUint64(to, uint64(offset))
	to = binary.BigEndian.AppendUint32(to, uint32(49+len(sized)))
	to = append(to, 0, 0, 0, 0, 2, 0, 0, 0, 0) // leader epoch, version, checksum
	to = append(to, 0, 0, 0, 0, 0, 0)          // attributes, difference of the last offset
	to = binary.BigEndian.AppendUint64(to, uint64(now))
	to = binary.BigEndian.AppendUint64(to, uint64(now))
	to = append(to, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff) // no producer
	to = append(to, 0, 0, 0, 1)
	to = append(to, sized...)
	binary.BigEndian.PutUint32(to[begin+17:], crc32.Checksum(to[begin+21:], castagnoli))
	return to
}

// claim records in the store that the log is counted up to ends.
func claim(t *testing.T, dir string, ends map[string]int64) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, "footfall.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	for partition, end := range ends {
		topic, number, _ := strings.Cut(partition, "-")
		_, err := db.Exec("INSERT OR REPLACE INTO owners (topic, kafka_partition, epoch, owner, clean, committed, taken_at)"+
			" VALUES (?, ?, 1, 'killed', 0, ?, '2018-10-01 00:00:00')", topic, number, end)
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "broker", "groups.log")); err != nil && !errors.Is(err, fs.ErrNotExist) { // its offsets are 0
		t.Fatal(err)
	}
}

// peak is the most memory that the process has had, in MB.
func peak(t *testing.T, p *process) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skipf("this system has no /proc with the memory of a process: %v", err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb / 1000
}

// size is how many bytes of records are in the log.
func size(t *testing.T, dir string) (total int64) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, "broker", "partitions", "*", "*.dat"))
	if err != nil {
		t.Fatal(err)
	}
	for _, segment := range segments {
		info, err := os.Stat(segment)
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
	}
	return total
}
