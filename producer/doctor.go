package main

import (
	"context"
	"fmt"
	"io"

	"footfall/configs"
	"footfall/internal/cli"
	"footfall/models"
	"footfall/producer/doctor"
)

const doctorHelp = `Examines the producer of this configuration, and prints what it finds: faults first, the cause first of
all, each with its remedy. It looks at the configuration, its keys and certificate, at Kafka (brokers,
topics, replicas that can acknowledge), at the store of links if links are enabled, and whether the running
producer answers at http.addr and http.admin_addr. It changes nothing. ` + "`consumer doctor`" + ` also sends an event.

Exit code 0: no fault, perhaps warnings. 1: a fault.
`

func examine(ctx context.Context, cfg configs.Producer, line commandLine, stdout io.Writer) error {
	found := doctor.Examine(ctx, cfg)
	var failed error
	err := found.Print(line.json, line.metric, func(text string) {
		if _, err := fmt.Fprintln(stdout, models.Visible(text)); err != nil {
			failed = err
		}
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return failed
	case !found.Healthy:
		return cli.ErrLogged
	}
	return nil
}
