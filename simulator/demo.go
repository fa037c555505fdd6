package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"footfall/simulator/mock"
)

// greeting is the line with which one process says where it counts.
var greeting = regexp.MustCompile(`^footfall counts at (http\S+), `)

// demo starts footfall in one process, sends it what a shop counted until now, and goes on until ctx ends. Then it removes what was counted.
func demo(ctx context.Context, args []string, stdout, stderr io.Writer) (failed error) {
	if len(args) != 1 {
		return fmt.Errorf("demo takes the binary of one process, such as bin/embedded; %w", errUsage)
	}
	if err := os.MkdirAll(ownDir, 0o755); err != nil {
		return fmt.Errorf("making a directory for the demo: %w", err)
	}
	dir, err := os.MkdirTemp(ownDir, "demo-")
	if err != nil {
		return fmt.Errorf("making a directory for the demo: %w", err)
	}
	defer func() { failed = errors.Join(failed, os.RemoveAll(dir)) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	footfall := exec.CommandContext(ctx, args[0])
	footfall.Env = append(os.Environ(), "FOOTFALL_DATA_DIR="+dir, "FOOTFALL_FEATURES="+strings.Join(mock.ShopFeatures, ","), "FOOTFALL_LATEST_ENABLED=true",
		"FOOTFALL_LIMITS_CLIENT_PER_SECOND=0", "FOOTFALL_LIMITS_NEW_KEYS_PER_MINUTE=0", "FOOTFALL_LIMITS_NEW_VISITORS_PER_MINUTE=0")
	footfall.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches it through us alone: a second one would kill it
	footfall.Cancel = func() error { return footfall.Process.Signal(syscall.SIGTERM) }
	footfall.Stderr, footfall.WaitDelay = stderr, time.Minute
	said, err := footfall.StdoutPipe()
	if err == nil {
		err = footfall.Start()
	}
	if err != nil {
		return fmt.Errorf("starting footfall: %w", err)
	}
	var sent chan error
	for lines := bufio.NewScanner(said); lines.Scan(); {
		fmt.Fprintln(stdout, lines.Text())
		if at := greeting.FindStringSubmatch(lines.Text()); at != nil {
			sent = make(chan error, 1)
			go func() {
				sent <- keepShop(ctx, at[1], stdout, stderr)
				stop()
			}()
		}
	}
	asked := ctx.Err() != nil
	if err := footfall.Wait(); !asked {
		return errors.Join(errors.New("footfall has ended: it says why above"), err)
	}
	if sent == nil {
		return nil
	}
	return <-sent
}

// keepShop sends what a shop counted until now, and then what it goes on to count.
func keepShop(ctx context.Context, producer string, stdout, stderr io.Writer) error {
	s, shop := newSender(options{send: producer}), mock.NewShop()
	clicks, visits := shop.Past(time.Now().UTC())
	total := len(clicks)
	for _, list := range visits {
		total += len(list)
	}
	bar := newProgress(stderr, "sent", total)
	plan := mock.Plan{Features: []mock.Feature{{Name: mock.ShopFeatures[0]}, {Name: mock.ShopFeatures[1]}}}
	err := s.all(ctx, "/v1/clicks", len(clicks), clickEvents(clicks), bar)
	for site, list := range visits {
		if plan.Site = site; err == nil {
			err = s.all(ctx, "/v1/visits", len(list), visitEvents(plan, list), bar)
		}
	}
	if err == nil {
		bar.end(s.sent)
		fmt.Fprintf(stdout, "A shop's last 75 days are sent, and it goes on: look at site %s and link %s.\n", mock.ShopSite, mock.ShopLink)
	}
	for bar.out = io.Discard; err == nil; {
		if err = pause(ctx, rand.N(2*time.Second)); err != nil {
			break
		}
		click, site, visit := shop.Next(time.Now().UTC())
		if click != nil {
			err = s.all(ctx, "/v1/clicks", 1, clickEvents([]mock.Click{*click}), bar)
		} else {
			plan.Site = site
			err = s.all(ctx, "/v1/visits", 1, visitEvents(plan, []mock.Visit{*visit}), bar)
		}
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // asked to stop
	}
	return fmt.Errorf("sending to %s: %w", producer, err)
}
