package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// engineAnswers tells whether a container engine runs. A docker client alone does not say so.
func engineAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info", "--format", "{{.ServerVersion}}").Run() == nil &&
		exec.CommandContext(ctx, "docker", "compose", "version").Run() == nil
}

func (c *control) composeUp(ctx context.Context) error {
	c.say("a container engine answers: docker compose up kafka cassandra")
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", c.dir, err)
	}
	if err := os.WriteFile(c.engineFile(), nil, 0o644); err != nil {
		return fmt.Errorf("noting that compose is used: %w", err)
	}
	if err := c.compose(ctx, "up", "-d", "--wait", "kafka", "cassandra"); err != nil {
		return fmt.Errorf("%w\nWhat to do: docker compose logs kafka cassandra; or `up --jars` to run without the engine", err)
	}
	return nil
}

func (c *control) composeIsOurs() bool {
	_, err := os.Stat(c.engineFile())
	return err == nil
}

func (c *control) composeDown(ctx context.Context) error {
	args := []string{"down"}
	if c.wipe {
		args = append(args, "--volumes")
	}
	if err := c.compose(ctx, args...); err != nil {
		return err
	}
	if err := os.Remove(c.engineFile()); err != nil {
		return fmt.Errorf("forgetting that compose was used: %w", err)
	}
	return nil
}

func (c *control) compose(ctx context.Context, args ...string) error {
	if err := c.command(ctx, append([]string{"docker", "compose"}, args...)...).Run(); err != nil {
		return fmt.Errorf("docker compose %s: %w", strings.Join(args, " "), err)
	}
	return nil
}
