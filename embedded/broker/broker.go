// Package broker is the Kafka of embedded: kfake with its log in a directory. It has no port: only this process reaches it.
// kfake trusts whoever connects: some bytes that are no request end the process, before any login.
//
// What kfake stores and when, as found in its source and checked by the tests here:
//   - A produced batch is written to its partition's segment file, and synced to the disk because of SyncWrites, before
//     the batch is acknowledged and before any consumer can fetch it. So kill -9 and a power cut lose nothing that was
//     acknowledged, and a store that has counted an offset can never be ahead of the log. (kfake ignores errors of fsync, so
//     a disk that fails to sync is not noticed.)
//   - A batch cut short by kill -9 was not acknowledged; kfake cuts it off when it starts.
//   - Group offsets are appended to groups.log, synced likewise. A torn last entry is ignored when it is read, but kfake
//     appends after it, and then no later entry can be read: Start cuts the torn entry off first.
//   - At its start it reads every segment, all partitions at the same time, and keeps 72 bytes for each batch. A partition
//     without a snapshot that fits, as after kill -9, is read into memory as a whole. So Start writes missing snapshots, and
//     segments are small.
//   - A partition whose last segment is deleted begins again at offset 0 after a restart, which would make the store skip
//     events. kfake's own retention would delete that segment, and events that are not counted. It is off; Start and Trim
//     bound the log instead.
package broker

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/configs"
	"footfall/models"
)

// Broker is a running broker. All methods are safe for concurrent use.
type Broker struct {
	cluster *kfake.Cluster
	network kfake.VirtualNetwork // in memory
	dir, id string
	keep    Retention
}

// Start starts a broker with its topics, records and group offsets in dir, which it makes if need be. The
// caller must ensure that only one process uses dir. A log that is larger than keep allows is trimmed before it is read. kfake's
// warnings go to log.
func Start(ctx context.Context, dir string, keep Retention, log *slog.Logger) (*Broker, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("starting broker: %w (its directory is in data.dir)", err)
	}
	if err := truncateTornTail(filepath.Join(dir, "groups.log"), log); err != nil {
		return nil, fmt.Errorf("starting broker: %w", err)
	}
	if err := prepare(ctx, dir, keep, log); err != nil {
		return nil, fmt.Errorf("starting broker in %s: %w", dir, err)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(loadingGC))
	b := &Broker{dir: dir, keep: keep}
	var err error
	b.cluster, err = kfake.NewCluster(
		kfake.NumBrokers(1),
		kfake.ClusterID(rand.Text()), // of a new directory; an old one keeps its own
		kfake.DataDir(dir),
		kfake.SyncWrites(),
		kfake.ListenFn(b.network.Listen),
		kfake.BrokerConfigs(map[string]string{
			"log.retention.ms": "-1", "log.retention.bytes": "-1", "log.segment.bytes": strconv.Itoa(segmentBytes),
		}),
		kfake.WithLogger(logger{log}),
	)
	if err != nil {
		return nil, fmt.Errorf("starting broker in %s: %w", dir, err)
	}
	if b.id, err = identity(dir); err != nil {
		b.Close()
		return nil, fmt.Errorf("starting broker: %w", err)
	}
	return b, nil
}

// loadingGC is GOGC while the log is read: nearly everything that kfake allocates then is garbage.
const loadingGC = 20

// identity reads the id of the log in the directory.
func identity(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, "meta.json"))
	if err != nil {
		return "", fmt.Errorf("reading the log's id: %w", err)
	}
	var meta struct {
		ID string `json:"cluster_id"`
	}
	if err := json.Unmarshal(data, &meta); err != nil {
		return "", fmt.Errorf("reading the log's id: meta.json of %s: %w", dir, err)
	}
	if meta.ID == "" {
		return "", fmt.Errorf("reading the log's id: meta.json of %s has none", dir)
	}
	return meta.ID, nil
}

// Client is how Kafka clients of this process connect.
func (b *Broker) Client() configs.KafkaClient {
	return configs.KafkaClient{Brokers: b.cluster.ListenAddrs(), Dial: b.network.DialContext}
}

// ID is the id of the log. It never changes, and no other log has it.
func (b *Broker) ID() string { return b.id }

// Ends is the offset after the last record of every partition of the topics; a topic that does not exist has none.
func (b *Broker) Ends(topics ...string) map[models.Partition]int64 {
	ends := map[models.Partition]int64{}
	for _, topic := range topics {
		for _, p := range b.cluster.PartitionInfos(topic) {
			ends[models.Partition{Topic: topic, Number: int(p.Partition)}] = p.HighWatermark
		}
	}
	return ends
}

// Close stops the broker and writes snapshots for a fast start. Clients should have disconnected before.
func (b *Broker) Close() { b.cluster.Close() }

// logger passes kfake's messages on, those of level info as debug.
type logger struct{ log *slog.Logger }

// Logf implements kfake.Logger.
func (l logger) Logf(level kfake.LogLevel, format string, args ...any) {
	switch level {
	case kfake.LogLevelError:
		l.log.Error("broker: " + fmt.Sprintf(format, args...))
	case kfake.LogLevelWarn:
		l.log.Warn("broker: " + fmt.Sprintf(format, args...))
	}
}
