package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"footfall/consumer/pause"
)

const pauseHelp = `Holds counting while a snapshot of the keyspaces is taken. Cassandra takes a snapshot table by table: a
counter that is written meanwhile would no longer fit its ledger, and count wrong after a restore.

Consumers finish their chunks, release their partitions and stay in the group. Events wait in Kafka.
When nothing is written any more, COMMAND runs: it has to take the snapshot on every node. Without a
COMMAND, counting is held until Ctrl-C. Then pause looks whether anything was written meanwhile.

It exits 0 if the snapshot is whole. If it exits 1, the snapshot is of no use: take it again. It does
so if a consumer did not rest within --wait, if a replica did not answer or a write stayed in doubt
for so long, if COMMAND failed or took longer than --for, or if somebody counted meanwhile. Counting goes on when the command ends, and at most 90 seconds after it
was killed. Commands that write to the tables (retire, forget, grow, audit --repair,
accept-gap) are refused during a pause. If one runs already, counting goes on until it has ended.

  consumer pause -- sh -c 'for node in a b c; do ssh $node nodetool snapshot -t monday \
    footfall urlshortener cardinality || exit 1; done'
`

func pauseCounting(ctx context.Context, t *task) error {
	if err := t.open(ctx); err != nil {
		return err
	}
	do := func(ctx context.Context) error { return run(ctx, t.rest) }
	if len(t.rest) == 0 {
		interrupted := ctx
		do = func(ctx context.Context) error {
			t.report("take the snapshot on every node now; Ctrl-C when it is done")
			select {
			case <-interrupted.Done(): // the judgement comes now
				return nil
			case <-ctx.Done():
			}
			if interrupted.Err() == nil {
				return context.Cause(ctx)
			}
			return nil
		}
	}
	return pause.Run(ctx, t.cfg, t.store, cmp.Or(t.patience, 3*time.Minute), cmp.Or(t.limit, 10*time.Minute), do, t.log, t.report)
}

// run runs a command until it ends. It is asked to stop when ctx ends.
func run(ctx context.Context, command []string) error {
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w", command[0], err)
	}
	return nil
}
