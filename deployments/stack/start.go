package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// launch is what Kafka and Cassandra have in common while they start.
type launch struct {
	process
	ask    func(context.Context) error             // nil once the server answers
	line   func(context.Context) ([]string, error) // the command line; called only if the server has to be started
	ports  map[int]string                          // port → address that must be free
	tether bool
	logf   func(string, ...any)
}

// start starts the server unless it runs, and returns when it answers. If a server that it started does not answer before ctx ends, it kills
// the server.
func (l launch) start(ctx context.Context) error {
	if err := os.MkdirAll(l.dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", l.name, err)
	}
	unlock, err := lock(ctx, filepath.Join(l.dir, l.name+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := l.pid(); err == nil {
		_ = l.signal(syscall.SIGCONT) // a paused server would never answer
		return l.await(ctx, l.logSize())
	}
	if err := l.awaitPorts(ctx); err != nil {
		return err
	}
	line, err := l.line(ctx)
	if err != nil {
		return err
	}
	from, began := l.logSize(), time.Now()
	pid, err := l.spawn(line, l.tether)
	if err != nil {
		return err
	}
	l.logf("%s is starting: pid %d, log %s", l.name, pid, l.logFile())
	if err := l.await(ctx, from); err != nil {
		return errors.Join(err, l.kill())
	}
	l.logf("%s answers after %.1f s", l.name, time.Since(began).Seconds())
	return nil
}

// await polls until the server answers, its process ends or ctx does.
func (l launch) await(ctx context.Context, logFrom int64) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		answer := l.ask(ctx)
		if answer == nil {
			return nil
		}
		if _, err := l.pid(); err != nil {
			return l.failed("the process ended", logFrom)
		}
		select {
		case <-ctx.Done():
			return l.failed(fmt.Sprintf("no answer (%v): %v", answer, ctx.Err()), logFrom)
		case <-tick.C:
		}
	}
}

func (l launch) failed(why string, logFrom int64) error {
	tail := l.logTail(15, logFrom)
	if tail == "" {
		tail = "(the log is empty)"
	}
	return fmt.Errorf("waiting for %s: %s; last lines of %s:\n%s", l.name, why, l.logFile(), tail)
}

// awaitPorts returns an error if the server's ports are taken. It waits a moment first: the threads of a predecessor that was killed may still
// be ending.
func (l launch) awaitPorts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		var taken error
		for port, address := range l.ports {
			if err := portsFree(port, address); err != nil {
				taken = fmt.Errorf("%w: another process holds the port: end it or choose another port", err)
			}
		}
		if taken == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return taken
		case <-tick.C:
		}
	}
}

// heap returns the Java options for a heap of that many megabytes.
func heap(mb int) []string {
	n := strconv.Itoa(mb)
	return []string{"-Xms" + n + "m", "-Xmx" + n + "m"}
}

func nop(string, ...any) {}
