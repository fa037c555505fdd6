package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func (c *Cassandra) jmxFile() string { return filepath.Join(c.home(), "jmx.port") }

// Nodetool runs Cassandra's nodetool against this node, for example with "flush", "urlshortener", "clickcounter", and returns its output. It
// takes about two seconds, mostly to start Java. If the node does not run, the error wraps ErrNotRunning; other errors have nodetool's output.
func (c *Cassandra) Nodetool(ctx context.Context, args ...string) (string, error) {
	d := c.withDefaults()
	if _, err := d.PID(); err != nil {
		return "", fmt.Errorf("running nodetool: cassandra in %s: %w", d.Dir, err)
	}
	port, err := os.ReadFile(d.jmxFile())
	if err != nil {
		return "", fmt.Errorf("reading the node's JMX port: %w", err)
	}
	jars, err := d.product().fetch(ctx, d.Jars, d.Logf)
	if err != nil {
		return "", err
	}
	java, _, err := findJava(ctx)
	if err != nil {
		return "", err
	}
	line := []string{"@" + filepath.Join(d.home(), "jvm.options"), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(jars, "*"),
		"-Dlogback.configurationFile=" + filepath.Join(d.home(), "logback.xml"),
		"-Duser.home=" + d.home(), // it keeps a history there
		"org.apache.cassandra.tools.NodeTool", "-h", loopback, "-p", strings.TrimSpace(string(port))}
	out, err := exec.CommandContext(ctx, java, append(line, args...)...).CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("running nodetool %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// AwaitUp waits until this node sees n nodes of its cluster up, itself included. That takes some seconds after a start. It asks the node's
// failure detector, which decides whether the node sends requests to a replica; the peers table also lists dead nodes. The error is ctx's, with
// the last answer.
func (c *Cassandra) AwaitUp(ctx context.Context, n int) error {
	for {
		out, err := c.Nodetool(ctx, "status")
		if err == nil && strings.Count("\n"+out, "\nUN ") >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d nodes up as %s sees them: %w\n%s", n, c.Addr(), errors.Join(ctx.Err(), err), out)
		case <-time.After(200 * time.Millisecond):
		}
	}
}
