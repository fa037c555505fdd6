package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"footfall/consumer/doctor"
	"footfall/internal/cli"
)

const doctorHelp = `Examines the deployment, and prints what it finds: faults first, the cause first of all, each with its
remedy. It looks at Kafka (brokers, topics, retention, replicas), Cassandra (nodes, schema, durability,
replication, timeouts, guardrails), clocks, what the tables record, the group and its lag, doubts, and the
dead letters of the last day. It changes no count.

At the end it sends a canary to the producer at URL: a bot's click on a link of its own, which no list or page
shows. It waits until the canary is counted, exactly once, and says how long that took. Producers that ask for
write keys need an entry of access.sites with links: "footfall.canary.*"; FILE has its key. With a certificate of
your own authority set SSL_CERT_FILE.

It takes some seconds. Exit code 0: no fault, perhaps warnings. 1: a fault.
`

// defaultProducer is where a producer on the same machine listens by default.
const defaultProducer = "http://127.0.0.1:8080"

// setProducer notes that somebody named a producer.
func (line *commandLine) setProducer(text string) error {
	line.producer, line.named = text, true
	return nil
}

func examine(ctx context.Context, t *task) error {
	o := doctor.Options{Config: t.cfg, Plan: t.plan, Producer: defaultProducer}
	if t.named {
		o.Producer, o.Expected = t.producer, true
	}
	if t.keyFile != "" {
		key, err := os.ReadFile(t.keyFile)
		if err == nil && len(strings.TrimSpace(string(key))) == 0 {
			err = errors.New("the file is empty")
		}
		if err != nil {
			return fmt.Errorf("reading --key-file: %w; %w", err, errUsage)
		}
		o.Key = strings.TrimSpace(string(key))
	}
	found, err := doctor.Examine(ctx, o)
	if err != nil {
		return err
	}
	if err := found.Print(t.json, t.metric, func(text string) { t.report("%s", text) }); err != nil {
		return err
	}
	if !found.Healthy {
		return cli.ErrLogged
	}
	return nil
}
