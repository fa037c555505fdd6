package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNotRunning is returned by methods that need a running server.
var ErrNotRunning = errors.New("not running")

// process is one server, found by its files. It has no state of its own: the pid file and the command line of that process say whether it runs.
type process struct {
	name string // kafka or cassandra
	dir  string // absolute
}

func (p process) pidFile() string { return filepath.Join(p.dir, p.name+".pid") }
func (p process) logFile() string { return filepath.Join(p.dir, p.name+".log") }

// marker is an argument that only this server's command line has. A pid file may outlive its process, and the system may give the pid to
// another process: signals go only to a process that has the marker.
func (p process) marker() string {
	return "-Dfootfall.stack=" + filepath.Join(p.dir, p.name)
}

// pid returns the running server's process id, or ErrNotRunning.
func (p process) pid() (int, error) {
	b, err := os.ReadFile(p.pidFile())
	if errors.Is(err, os.ErrNotExist) {
		return 0, ErrNotRunning
	}
	if err != nil {
		return 0, fmt.Errorf("reading the pid file: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 1 || !carries(pid, p.marker()) {
		return 0, ErrNotRunning
	}
	return pid, nil
}

// carries tells whether arg is one of the process's arguments. It is false for a process that has ended and waits to be reaped.
//
// The kernel shows no arguments of such a process, but none of one in the midst of an exec either, and on a busy machine that can last: only the
// latter has an executable, and is looked at again.
func carries(pid int, arg string) bool {
	proc := fmt.Sprintf("/proc/%d/", pid)
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		b, err := os.ReadFile(proc + "cmdline")
		if err != nil {
			break
		}
		if len(b) > 0 {
			return slices.Contains(strings.Split(string(b), "\x00"), arg)
		}
		if _, err := os.Readlink(proc + "exe"); err != nil {
			return false
		}
	}
	if exists("/proc/self/cmdline") {
		return false
	}
	// no /proc, as on macOS
	b, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(b)+" ", arg+" ")
}

// spawn starts the command in a session of its own, so that neither the end of the caller nor a Ctrl-C in its terminal ends the server. With
// tether the server ends with the calling process.
func (p process) spawn(line []string, tether bool) (int, error) {
	if err := p.rotateLog(); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = out.Close() }() // the server has its own file descriptor
	cmd := exec.Command(line[0], append([]string{p.marker()}, line[1:]...)...)
	cmd.Dir = p.dir
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("running %s: %w", line[0], err)
	}
	go func() { _ = cmd.Wait() }() // reaps it if it ends before this process does
	pid := cmd.Process.Pid
	if err := os.WriteFile(p.pidFile(), []byte(strconv.Itoa(pid)+"\n"), 0o644); err != nil {
		_ = cmd.Process.Kill() // without a pid file nobody could stop it
		return 0, fmt.Errorf("writing the pid file: %w", err)
	}
	if tether {
		if err := tetherTo(os.Getpid(), pid); err != nil {
			_ = cmd.Process.Kill()
			return 0, err
		}
	}
	return pid, nil
}

// tetherTo starts a shell that kills pid when owner has ended: a test that panics or times out runs no cleanup, and would leave servers behind
// that take gigabytes.
func tetherTo(owner, pid int) error {
	const watch = `while kill -0 "$2"; do kill -0 "$1" || { kill -9 "$2"; exit; }; sleep 1; done`
	cmd := exec.Command("/bin/sh", "-c", watch, "footfall-tether", strconv.Itoa(owner), strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting the shell that watches process %d: %w", pid, err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}

// signal sends sig to the server, or returns ErrNotRunning.
func (p process) signal(sig syscall.Signal) error {
	pid, err := p.pid()
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %v to %s (pid %d): %w", sig, p.name, pid, err)
	}
	return nil
}

// stop sends SIGTERM, and kills the server if it has not ended after grace, or when ctx ends. If it does not run, that is no error.
func (p process) stop(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := p.signal(syscall.SIGTERM); err != nil {
		return ignoreNotRunning(err)
	}
	_ = p.signal(syscall.SIGCONT) // a paused process does not handle SIGTERM
	if p.awaitEnd(ctx) == nil {
		return nil
	}
	return p.kill()
}

// kill ends the server as a crash would and returns when it is gone.
func (p process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return ignoreNotRunning(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := p.awaitEnd(ctx); err != nil {
		return fmt.Errorf("killing %s: it is still running: %w", p.name, err)
	}
	return nil
}

// awaitEnd waits until the server has ended. It polls, since the server need not be a child of this process.
func (p process) awaitEnd(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := p.pid(); err != nil {
			return ignoreNotRunning(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func ignoreNotRunning(err error) error {
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	return err
}
