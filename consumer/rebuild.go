package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/maintenance"
	"footfall/consumer/pause"
	"footfall/consumer/rebuild"
	"footfall/consumer/rollup"
	"footfall/migrations"
)

const rebuildArgs = `--keyspace-suffix SUFFIX [--to FILE]
--keyspace-suffix SUFFIX --from-file VISITS.CSV [--site SITE] [--compare=false]`

const rebuildHelp = `Makes a second set of tables, in keyspaces whose names end in SUFFIX, and counts into them all
that the topics hold, from the beginning to where they end now. It does so under a consumer group
of its own: kafka.group, with SUFFIX instead of cassandra.keyspace_suffix. Then it compares every
counter with the tables in use and prints those that differ, 20 at the most. Consumers may run
meanwhile; keys that change all the time are reported as busy. Exits 1 if anything differs, if a key
was busy to the end, or if nothing could be compared. If it was stopped, run it again: it resumes,
and compares anew.

With --to the second set is made in another Cassandra: that of the settings under cassandra in FILE, a
configuration file. What is missing there has its default. The environment does not change it.

With --from-file the visits come from a CSV file, such as the simulator writes. Its first line names
the columns: guid, timestamp (Unix seconds) or ts (milliseconds), siteId unless --site is given, and
the features. All counters of its sites are compared with the tables in use, into which no consumer
should count meanwhile; --compare=false skips the comparison. After a retire the two differ where
visits came too late and were refused.

The second set of tables is counted from the topics or from one file, never from both. It is not
removed: count into it with cassandra.keyspace_suffix, or drop it.
`

// newSuffix is what a second set of keyspaces may end in.
var newSuffix = regexp.MustCompile(`^[a-z0-9_]{1,30}$`)

func rebuildTables(ctx context.Context, t *task) error {
	cfg := t.cfg
	if t.suffix == cfg.Cassandra.KeyspaceSuffix {
		return fmt.Errorf("--keyspace-suffix %s is that of the tables in use; %w", t.suffix, errUsage)
	}
	other := cfg.Cassandra
	if t.to != "" {
		of, err := configs.LoadOther(t.to)
		if err != nil {
			return fmt.Errorf("--to: %w", err)
		}
		other = of.Cassandra
	}
	var file rollup.VisitsFile
	if t.visits != "" {
		var err error
		if file, err = openVisits(t.visits, t.site, t.plan); err != nil {
			return fmt.Errorf("%w; %w", err, errUsage)
		}
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	group := cfg.Kafka.Group
	cfg.Kafka.Group = strings.TrimSuffix(group, cfg.Cassandra.KeyspaceSuffix) + t.suffix
	cfg.Cassandra = other
	cfg.Cassandra.KeyspaceSuffix = t.suffix
	if err := migrations.Apply(ctx, cfg.Cassandra, t.plan, func(string, ...any) {}); err != nil {
		return err
	}
	fresh, err := cassandra.Open(ctx, cfg.Cassandra, t.plan)
	if err != nil {
		return err
	}
	defer fresh.Close()
	fresh.ExpireIPs(cfg.Visitors.IPTTL)
	return pause.Work(ctx, fresh, "consumer rebuild", func(ctx context.Context) error {
		return guarded(ctx, func(ctx context.Context) error {
			if t.visits != "" {
				return t.rebuildFile(ctx, cfg, fresh, file)
			}
			found, err := rebuild.RunRebuild(ctx, cfg, fresh, t.store, group, t.log, t.report)
			if err != nil {
				return err
			}
			return judge(found, t.report)
		}, fresh, t.store)
	})
}

func (t *task) rebuildFile(ctx context.Context, cfg configs.Consumer, fresh *cassandra.Store, file rollup.VisitsFile) error {
	started := time.Now()
	if err := rebuild.RunFile(ctx, cfg, fresh, file, t.log, t.report); err != nil {
		return err
	}
	t.report("%d visits of %s are counted, in %v", file.Lines, file.Name, time.Since(started).Round(time.Millisecond))
	if !t.compare {
		return nil
	}
	found, err := rebuild.RunCompareSites(ctx, fresh, t.store, t.report)
	if err != nil {
		return err
	}
	return judge(found, t.report)
}

// judge reports what a comparison found, and fails if something differs or was left out.
func judge(c maintenance.Comparison, report maintenance.Reporter) error {
	report("%d cells of %d keys compared: %d differ; %d keys were too busy to compare, %d hold events of other topics",
		c.Cells, c.Keys, c.Differ, c.Busy, c.Foreign)
	switch {
	case c.Differ > 0:
		return errors.New("the tables differ")
	case c.Busy > 0:
		return errors.New("not all could be compared: run it again when fewer events come in")
	case c.Keys == 0 && c.Foreign > 0:
		return errors.New("nothing could be compared: all keys hold events of other topics as well")
	}
	return nil
}
