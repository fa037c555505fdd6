package stack

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func TestStartIsIdempotent(t *testing.T) {
	l := fake(t, "plain")
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	first, err := l.pid()
	if err != nil {
		t.Fatal(err)
	}
	l.line = func(context.Context) ([]string, error) { return nil, errors.New("started a second time") }
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if second, err := l.pid(); err != nil || second != first {
		t.Fatalf("pid %d, %v; want still %d", second, err, first)
	}
}

func TestConcurrentStartsStartOneServer(t *testing.T) {
	l := fake(t, "plain")
	var mu sync.Mutex
	lines, line := 0, l.line
	l.line = func(ctx context.Context) ([]string, error) {
		mu.Lock()
		defer mu.Unlock()
		lines++
		return line(ctx)
	}
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			if err := l.start(within(t, time.Minute)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if lines != 1 {
		t.Fatalf("started %d times", lines)
	}
}

func TestStartResumesAPausedServer(t *testing.T) {
	l := fake(t, "plain")
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	k := &Kafka{Dir: l.dir}
	if err := k.Pause(); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("pausing kafka where only another server runs: %v", err)
	}
	if err := l.signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); l.ask(within(t, 2*time.Second)) == nil; { // the signal takes effect a moment later
		if time.Now().After(until) {
			t.Fatal("a paused server answers")
		}
	}
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
}

func TestFailedStartReturnsTheEndOfTheLog(t *testing.T) {
	l := fake(t, "broken")
	if err := os.WriteFile(l.logFile(), []byte("FATAL: something of last week\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := l.start(within(t, time.Minute))
	if err == nil || !strings.Contains(err.Error(), "is a teapot") || !strings.Contains(err.Error(), l.logFile()) {
		t.Fatalf("want the log's last lines and its name in %v", err)
	}
	if strings.Contains(err.Error(), "last week") {
		t.Fatalf("lines of an earlier run in %v", err)
	}
}

func TestStartKillsTheServerWhenItsContextEnds(t *testing.T) {
	l := fake(t, "plain")
	l.ask = func(context.Context) error { return errors.New("not yet") }
	err := l.start(within(t, 500*time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "not yet") {
		t.Fatalf("want the last answer in %v", err)
	}
	if pid, err := l.pid(); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("still running: pid %d, %v", pid, err)
	}
}

func TestStartRefusesATakenPort(t *testing.T) {
	l := fake(t, "plain")
	for port := range l.ports {
		taken, err := net.Listen("tcp", loopback+":"+strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = taken.Close() }()
	}
	err := l.start(within(t, 500*time.Millisecond))
	if err == nil || !strings.Contains(err.Error(), "another process holds the port") {
		t.Fatal(err)
	}
}

func TestRestartOnTheSamePort(t *testing.T) {
	l := fake(t, "plain")
	last := 0
	for range 3 {
		if err := l.start(within(t, time.Minute)); err != nil {
			t.Fatal(err)
		}
		pid, err := l.pid()
		if err != nil || pid == last {
			t.Fatalf("pid %d after %d, %v", pid, last, err)
		}
		last = pid
		if err := l.kill(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTetheredServerEndsWithItsOwner(t *testing.T) {
	owner := exec.Command("sleep", "600")
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	l := fake(t, "plain")
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	pid, err := l.pid()
	if err != nil {
		t.Fatal(err)
	}
	if err := tetherTo(owner.Process.Pid, pid); err != nil {
		t.Fatal(err)
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	if err := l.awaitEnd(within(t, time.Minute)); err != nil {
		t.Fatalf("the server outlived its owner: %v", err)
	}
}
