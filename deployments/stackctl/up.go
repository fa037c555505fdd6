package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/deployments/stack"
)

// startTimeout is long enough for a slow machine. A start usually takes about twenty seconds.
const startTimeout = 4 * time.Minute

// up starts both servers, with compose or from jars, then creates topics and tables.
func (c *control) up(ctx context.Context) error {
	err := c.bringUp(ctx)
	if errors.Is(err, stack.ErrUnavailable) && c.optional && !c.ci {
		first, _, _ := strings.Cut(err.Error(), "\n")
		c.say("no real stack (%s): the tests that need it will be skipped", first)
		return nil
	}
	if err != nil {
		return err
	}
	if !c.bare {
		if err := c.prepare(ctx); err != nil {
			return err
		}
	}
	c.say("up: kafka on 127.0.0.1:9092, cassandra on 127.0.0.1:9042")
	if !c.bare {
		c.say("%s", next)
	}
	return nil
}

// next is what to start on the servers, where nothing of footfall runs yet.
const next = `next, after make build, each in a terminal of its own:
        FOOTFALL_ACCESS_OPEN=true bin/producer   # takes events on http://127.0.0.1:8080
        bin/consumer                             # counts them
        FOOTFALL_ACCESS_OPEN=true bin/reader     # shows the counts on http://127.0.0.1:8082`

func (c *control) bringUp(ctx context.Context) error {
	var missing []server
	ours := false
	for _, s := range c.servers {
		if _, err := s.PID(); err == nil {
			ours = true // this one runs from the jars: the other one must too
		}
		if s.ask(ctx) != nil {
			missing = append(missing, s)
			continue
		}
		c.say("%s already answers on %s%s", s.name, s.Addr(), c.whose(s))
	}
	if len(missing) == 0 {
		return nil
	}
	if !c.jars && !ours && engineAnswers(ctx) {
		return c.composeUp(ctx)
	}
	if err := stack.Available(ctx); err != nil {
		return fmt.Errorf("%w; or start a container engine that `docker info` can reach", err)
	}
	// one after the other: two runs of Maven would conflict in its cache
	for _, s := range missing {
		if err := s.Fetch(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	// not errgroup.WithContext: if one server fails, the other one stays
	var group errgroup.Group
	for _, s := range missing {
		group.Go(func() error { return s.Start(ctx) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%w\nWhat to do: the lines above say why; if the data itself is damaged, `down --wipe` removes it", err)
	}
	return nil
}

// whose describes who started a server: this launcher, compose, or somebody else.
func (c *control) whose(s server) string {
	if pid, err := s.PID(); err == nil {
		return fmt.Sprintf(": pid %d, log %s", pid, s.Log())
	}
	if _, err := os.Stat(c.engineFile()); err == nil {
		return " (docker compose)"
	}
	return " (not started from " + c.dir + ")"
}

// prepare creates topics and tables. Both commands are idempotent.
func (c *control) prepare(ctx context.Context) error {
	for _, line := range [][]string{
		{"go", "run", "./consumer", "migrate"},
		{"go", "run", "./producer", "topics"},
	} {
		c.say("running %s", strings.Join(line, " "))
		if err := c.command(ctx, line...).Run(); err != nil {
			return fmt.Errorf("running %s: %w; the servers stay up, run it again by hand or `up --bare` without it",
				strings.Join(line, " "), err)
		}
	}
	return nil
}
