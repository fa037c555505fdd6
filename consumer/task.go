package main

import (
	"context"
	"fmt"
	"log/slog"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/maintenance"
	"footfall/consumer/pause"
	"footfall/models"
)

// task is one run of a command: what the operator typed, the configuration, and what the command tells.
type task struct {
	commandLine
	cfg    configs.Consumer
	plan   *models.Plan
	log    *slog.Logger
	report maintenance.Reporter
	store  *cassandra.Store // the tables in use, once open or write was called
}

// open opens the tables in use. They are closed when the command ends.
func (t *task) open(ctx context.Context) (err error) {
	t.store, err = cassandra.Open(ctx, t.cfg.Cassandra, t.plan)
	return err
}

func (t *task) close() {
	if t.store != nil {
		t.store.Close()
	}
}

// write opens the tables in use and runs do, which may write to them. No pause of counting begins meanwhile.
func (t *task) write(ctx context.Context, do func(context.Context) error) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	return pause.Work(ctx, t.store, "consumer "+t.name, do)
}

// counts refuses a topic that the operator typed unless its first generation is one that is counted.
func (t *task) counts(base, typed string) error {
	if topics := t.cfg.Kafka.Topics; base != topics.Clicks && base != topics.Visits {
		return fmt.Errorf("--topic %s: want %s or %s, as kafka.topics has them; %w", typed, topics.Clicks, topics.Visits, errUsage)
	}
	return nil
}
