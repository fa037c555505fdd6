package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ErrNotRunning is returned by what needs a running server when there is none.
var ErrNotRunning = errors.New("not running")

// process is one server as its files know it. It holds no state of its own:
// the pid file and the command line of the process behind it are the truth.
type process struct {
	name string // kafka or cassandra
	dir  string // absolute
}

func (p process) pidFile() string { return filepath.Join(p.dir, p.name+".pid") }
func (p process) logFile() string { return filepath.Join(p.dir, p.name+".log") }

// marker is an argument that only this server's command line has. A pid file
// outlives its process, and the system gives the number to another one some
// day: nothing is signalled that does not carry the marker.
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

// carries tells whether one of the arguments of the process is arg. It is
// false for a process that has ended and waits to be reaped.
func carries(pid int, arg string) bool {
	if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil {
		for a := range strings.SplitSeq(string(b), "\x00") {
			if a == arg {
				return true
			}
		}
		return false
	}
	if exists("/proc/self/cmdline") {
		return false
	}
	// no /proc, as on macOS
	b, err := exec.Command("ps", "-ww", "-o", "args=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && strings.Contains(string(b)+" ", arg+" ")
}

// spawn starts the command detached, in a session of its own, so that neither the end
// of the caller nor a Ctrl-C in its terminal ends the server. tether makes it
// end with the calling process all the same.
func (p process) spawn(line []string, tether bool) (int, error) {
	if err := p.rotateLog(); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(p.logFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return 0, fmt.Errorf("opening the log: %w", err)
	}
	defer func() { _ = out.Close() }() // the server has its own
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
		_ = cmd.Process.Kill() // nobody could ever find it again
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

// tetherTo leaves a shell behind that kills pid once owner is gone: a test
// that panics or times out runs no cleanup, and would leave gigabytes of
// Java behind.
func tetherTo(owner, pid int) error {
	const watch = `while kill -0 "$2"; do kill -0 "$1" || { kill -9 "$2"; exit; }; sleep 1; done`
	cmd := exec.Command("/bin/sh", "-c", watch, "footfall-tether", strconv.Itoa(owner), strconv.Itoa(pid))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("watching over process %d: %w", pid, err)
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

// stop asks the server to end and kills it when it has not after grace, or
// when ctx ends. Stopping what does not run is no error.
func (p process) stop(ctx context.Context, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if err := p.signal(syscall.SIGTERM); err != nil {
		return ignoreNotRunning(err)
	}
	_ = p.signal(syscall.SIGCONT) // a paused process does not see the SIGTERM
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
		return fmt.Errorf("killing %s: still there: %w", p.name, err)
	}
	return nil
}

// awaitEnd polls because the server need not be a child of this process.
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
