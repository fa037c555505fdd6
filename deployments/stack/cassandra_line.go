package stack

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// commandLine writes the configuration and returns the node's command line.
func (c *Cassandra) commandLine(ctx context.Context) ([]string, error) {
	switch c.CommitlogSync {
	case "group", "batch", "periodic":
	default:
		return nil, fmt.Errorf("commitlog_sync %q: choose group, batch or periodic", c.CommitlogSync)
	}
	jars, err := c.product().fetch(ctx, c.Jars, c.Logf)
	if err != nil {
		return nil, err
	}
	agents, err := filepath.Glob(filepath.Join(jars, "jamm-*.jar"))
	if err != nil || len(agents) != 1 {
		return nil, fmt.Errorf("looking for the jamm agent: %d found; remove %s and start again", len(agents), jars)
	}
	java, major, err := findJava(ctx)
	if err != nil {
		return nil, err
	}
	// Each node has its own JMX port on 127.0.0.1, whatever the node's address, so that several nodes can run at once. Nodetool reads the port
	// from the file.
	jmx, err := FreePorts(1)
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(jmx[0])
	home := c.home()
	yaml := filepath.Join(home, "cassandra.yaml")
	logging := filepath.Join(home, "logback.xml")
	options := filepath.Join(home, "jvm.options")
	text, err := c.yaml()
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{yaml: text, logging: cassandraLogging, options: cassandraOptions, c.jmxFile(): []byte(port + "\n")}
	if c.Secure != nil {
		if files[c.pairFile()], err = c.Secure.pair(); err != nil {
			return nil, err
		}
	}
	if err := writeFiles(files); err != nil {
		return nil, err
	}
	line := append([]string{java}, heap(c.HeapMB)...)
	line = append(line, "@"+options, "-javaagent:"+agents[0], "-cp", filepath.Join(jars, "*"),
		"-Duser.timezone=UTC",
		"-Dlogback.configurationFile="+logging,
		"-Dcassandra.config=file://"+yaml,
		"-Dcassandra.storagedir="+home,
		"-Dcassandra-foreground=yes",
		"-Dcassandra.jmx.local.port="+port,
		"-Dcassandra.ring_delay_ms="+strconv.FormatInt(c.ringDelay().Milliseconds(), 10),
		"-Dcassandra.superuser_setup_delay_ms=0",
		"-Dcassandra.skip_wait_for_gossip_to_settle=0")
	if major > 17 { // Cassandra 5.0 uses the security manager, which Java 18 disallows by default
		line = append(line, "-Djava.security.manager=allow")
	}
	return append(line, "org.apache.cassandra.service.CassandraDaemon"), nil
}

// yaml renders cassandra.yaml.
func (c *Cassandra) yaml() ([]byte, error) {
	return render(cassandraYAML, map[string]any{
		"Address": c.Address, "Port": c.Port, "StoragePort": c.StoragePort, "Seeds": c.seeds(),
		"CommitlogSync": c.CommitlogSync, "CounterTimeout": c.CounterTimeout.Milliseconds(), "Data": c.home(), "CounterCache": c.HeapMB / 8,
		"Secure": c.Secure, "Pair": c.pairFile()})
}

func (c *Cassandra) pairFile() string { return filepath.Join(c.home(), "pair.pem") }

// ringDelay is how long the node waits for others, instead of Cassandra's half minute. A node that is no seed ends with "Unable to gossip with
// any peers" if no seed answers within it, and on a busy machine that takes more than a second.
func (c *Cassandra) ringDelay() time.Duration {
	if slices.Contains(c.Seeds, c.Address) {
		return 100 * time.Millisecond
	}
	return 5 * time.Second
}
