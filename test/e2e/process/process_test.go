package process

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"
)

func sh(t *testing.T, script string) *Process {
	t.Helper()
	p, err := Start(Command{Name: "script", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"FOOTFALL_A=1"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

func TestStopIsGraceful(t *testing.T) {
	p := sh(t, `trap 'echo bye; exit 0' TERM; echo listening on 127.0.0.1:4711; while :; do sleep 0.05; done`)
	got, err := p.Expect(t.Context(), regexp.MustCompile(`on (\S+)`))
	if err != nil || got != "127.0.0.1:4711" {
		t.Fatalf("got %q, %v", got, err)
	}
	if err := p.Stop(5 * time.Second); err != nil {
		t.Error(err)
	}
	if tail := p.Tail(1); !strings.HasSuffix(tail, "\nbye") {
		t.Errorf("the log ends in %q", tail)
	}
}

func TestStopReportsABadEnd(t *testing.T) {
	ready := regexp.MustCompile(`(ready)`)
	for name, script := range map[string]string{
		"exit code": `trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done`,
		"deaf":      `trap '' TERM; echo ready; while :; do sleep 0.05; done`,
		"signal":    `echo ready; exec sleep 60`,
	} {
		t.Run(name, func(t *testing.T) {
			p := sh(t, script)
			if _, err := p.Expect(t.Context(), ready); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Millisecond) // for exec; if it is too short, the signal ends the shell instead, which is an error too
			if err := p.Stop(500 * time.Millisecond); err == nil {
				t.Error("no error")
			}
			if p.Running() {
				t.Error("it still runs")
			}
		})
	}
	p := sh(t, `exit 0`)
	<-p.done
	if err := p.Stop(time.Second); err == nil {
		t.Error("no error although it had ended by itself")
	}
}

func TestExpectNoticesTheEnd(t *testing.T) {
	p := sh(t, `echo out of order; exit 1`)
	_, err := p.Expect(t.Context(), regexp.MustCompile(`on (\S+:\d+)`))
	if err == nil || !strings.Contains(err.Error(), "out of order") {
		t.Errorf("got %v", err)
	}
}

func TestRunHandsOverEnvironmentAndOutput(t *testing.T) {
	t.Setenv("FOOTFALL_OF_THE_CALLER", "x")
	run := func(script string) (string, error) {
		return Run(t.Context(), Command{Name: "run", Path: "/bin/sh", Args: []string{"-c", script}, Env: []string{"FOOTFALL_A=1"}, Dir: t.TempDir()})
	}
	if got, err := run(`echo "$FOOTFALL_A$FOOTFALL_OF_THE_CALLER"`); err != nil || got != "1\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := run(`echo oh dear; exit 2`); err == nil || !strings.Contains(err.Error(), "oh dear") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Run(ctx, Command{Name: "run", Path: "/bin/sleep", Args: []string{"60"}, Dir: t.TempDir()}); err == nil {
		t.Error("no error after the deadline")
	}
}
