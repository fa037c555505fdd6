package stack

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// A pid file can outlive its server, and the system can give the pid to another process: that one gets no signal.
func TestStalePidFile(t *testing.T) {
	stranger := exec.Command("sleep", "600")
	if err := stranger.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stranger.Wait() }()
	defer func() { _ = stranger.Process.Kill() }()

	k := &Kafka{Dir: t.TempDir()}
	if err := os.WriteFile(k.process().pidFile(), []byte(strconv.Itoa(stranger.Process.Pid)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if pid, err := k.PID(); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("took the other process %d for kafka (%v)", pid, err)
	}
	for name, f := range map[string]func() error{"pause": k.Pause, "resume": k.Resume} {
		if err := f(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("%s: %v, want ErrNotRunning", name, err)
		}
	}
	for name, f := range map[string]func() error{
		"kill": k.Kill, "stop": func() error { return k.Stop(t.Context()) }} {
		if err := f(); err != nil {
			t.Errorf("%s of a server that does not run: %v", name, err)
		}
	}
	select {
	case err := <-ended:
		t.Fatalf("the other process was ended: %v", err)
	case <-time.After(200 * time.Millisecond): // a signal would have ended it at once
	}
}

func TestInvalidPidFiles(t *testing.T) {
	for _, content := range []string{"", "x", "0", "1", "-1", "99999999", strconv.Itoa(os.Getpid())} {
		k := &Kafka{Dir: t.TempDir()}
		if err := os.WriteFile(k.process().pidFile(), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if pid, err := k.PID(); !errors.Is(err, ErrNotRunning) {
			t.Errorf("pid file %q: %d, %v; want ErrNotRunning", content, pid, err)
		}
	}
}

// For a moment after its start the kernel shows no arguments of a process, as it shows none of one that has ended and waits to be reaped. A
// server in that moment was taken for one that had ended.
func TestProcessIsKnownFromItsStartToItsEnd(t *testing.T) {
	const runs = 100
	for i := range runs {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		known := carries(cmd.Process.Pid, "600")
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for until := time.Now().Add(10 * time.Second); carries(cmd.Process.Pid, "600"); { // the signal takes effect a moment later
			if time.Now().After(until) {
				t.Fatal("a process that has ended, and was not waited for, is taken for one that runs")
			}
		}
		_ = cmd.Wait()
		if !known {
			t.Fatalf("process %d of %d was not known right after its start", i+1, runs)
		}
	}
}

// The marker is compared as a whole argument: the name of one folder may be the beginning of another's.
func TestMarkerIsAWholeArgument(t *testing.T) {
	l := fake(t, "plain")
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	pid, err := l.pid()
	if err != nil {
		t.Fatal(err)
	}
	if m := l.marker(); !carries(pid, m) || carries(pid, m[:len(m)-1]) || carries(pid, m+"2") {
		t.Fatalf("the marker %s is not matched as a whole", m)
	}
}

func TestStopKillsAServerThatIgnoresSIGTERM(t *testing.T) {
	l := fake(t, "stubborn")
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := l.stop(t.Context(), 200*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if _, err := l.pid(); !errors.Is(err, ErrNotRunning) {
		t.Fatalf("still running: %v", err)
	}
}

func TestWipeRefusesWhileRunning(t *testing.T) {
	l := fake(t, "plain")
	if err := l.start(within(t, time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := l.wipe(); err == nil {
		t.Fatal("wiped the data of a running server")
	}
	if err := l.kill(); err != nil {
		t.Fatal(err)
	}
	if err := l.wipe(); err != nil {
		t.Fatal(err)
	}
	if exists(l.logFile()) || exists(l.pidFile()) {
		t.Fatal("log or pid file left")
	}
}
