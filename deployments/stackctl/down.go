package main

import (
	"context"
	"errors"
	"fmt"

	"footfall/deployments/stack"
)

// down stops what up started. It leaves other servers on the same ports alone.
func (c *control) down(ctx context.Context) error {
	if c.composeIsOurs() {
		if err := c.composeDown(ctx); err != nil {
			return err
		}
	}
	var errs []error
	for _, s := range c.servers {
		errs = append(errs, c.stop(ctx, s))
	}
	return errors.Join(errs...)
}

func (c *control) stop(ctx context.Context, s server) error {
	pid, err := s.PID()
	switch {
	case errors.Is(err, stack.ErrNotRunning):
		c.say("%s does not run from %s", s.name, c.dir)
	case err != nil:
		return err
	default:
		if err := s.Stop(ctx); err != nil {
			return fmt.Errorf("stopping %s: %w", s.name, err)
		}
		c.say("%s stopped (pid %d)", s.name, pid)
	}
	if !c.wipe {
		return nil
	}
	c.say("%s: data and log removed", s.name)
	return s.Wipe()
}

// status prints one line per server.
func (c *control) status(ctx context.Context) error {
	var errs []error
	for _, s := range c.servers {
		if err := s.ask(ctx); err != nil {
			c.say("%s does not answer on %s (%v)", s.name, s.Addr(), err)
			errs = append(errs, fmt.Errorf("%s does not answer: run make up", s.name))
			continue
		}
		c.say("%s answers on %s%s", s.name, s.Addr(), c.whose(s))
	}
	return errors.Join(errs...)
}
