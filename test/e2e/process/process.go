// Package process builds the module's commands and runs them as an operator would: real processes with an environment, a
// log, a signal to stop and an exit code.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Process is one running command. Its methods are safe for concurrent use.
type Process struct {
	Name string

	cmd  *exec.Cmd
	log  string
	told atomic.Bool   // Stop or Kill was called
	done chan struct{} // closed when it has ended, then err is set
	err  error
}

// Command says what to run and how.
type Command struct {
	Name string   // of the log file, unique in Dir
	Path string   // of the binary
	Args []string // without the name
	Env  []string // FOOTFALL_… variables; of the caller's environment only the others are inherited
	Dir  string   // working directory; the log goes there as well

	NoAdmin bool // it is of a version that does not know http.admin_addr; else that is any port, since several run at once
}

// Start starts the command. What it prints goes to Dir/Name.log.
func Start(c Command) (*Process, error) {
	p := &Process{Name: c.Name, log: filepath.Join(c.Dir, c.Name+".log"), done: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	p.cmd = exec.Command(c.Path, c.Args...)
	p.cmd.Dir = c.Dir
	p.cmd.Env = Environ()
	if !c.NoAdmin {
		p.cmd.Env = append(p.cmd.Env, "FOOTFALL_HTTP_ADMIN_ADDR=127.0.0.1:0")
	}
	p.cmd.Env = append(p.cmd.Env, c.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", c.Name, err), log.Close())
	}
	go func() {
		p.err = errors.Join(p.cmd.Wait(), log.Close())
		close(p.done)
	}()
	if err := tether(p.cmd.Process.Pid); err != nil {
		p.Kill()
		return nil, fmt.Errorf("starting %s: %w", c.Name, err)
	}
	return p, nil
}

// tether starts a shell that kills the process once the test's process has ended: a test that panics or times out runs no cleanup.
func tether(pid int) error {
	const watch = `while kill -0 "$2"; do kill -0 "$1" || { kill -9 "$2"; exit; }; sleep 1; done`
	shell := exec.Command("/bin/sh", "-c", watch, "footfall-tether", strconv.Itoa(os.Getpid()), strconv.Itoa(pid))
	if err := shell.Start(); err != nil {
		return fmt.Errorf("starting its watchdog: %w", err)
	}
	go func() { _ = shell.Wait() }() // its exit code means nothing
	return nil
}

// Run runs a command to its end and returns what it printed. An exit code other than 0 is an error.
func Run(ctx context.Context, c Command) (string, error) {
	p, err := Start(c)
	if err != nil {
		return "", err
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Kill()
		return "", fmt.Errorf("running %s: %w\n%s", c.Name, context.Cause(ctx), p.Tail(40))
	}
	printed, err := os.ReadFile(p.log)
	if err != nil {
		return "", fmt.Errorf("running %s: %w", c.Name, err)
	}
	if p.err != nil {
		return string(printed), fmt.Errorf("running %s %s: %w\n%s", c.Name, strings.Join(c.Args, " "), p.err, p.Tail(40))
	}
	return string(printed), nil
}

// Expect waits until the log matches the pattern and returns its first group.
func (p *Process) Expect(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		printed, err := os.ReadFile(p.log)
		if err != nil {
			return "", fmt.Errorf("reading the log of %s: %w", p.Name, err)
		}
		if found := pattern.FindSubmatch(printed); found != nil {
			return string(found[1]), nil
		}
		select {
		case <-p.done:
			return "", fmt.Errorf("%s ended: %w\n%s", p.Name, p.ending(), p.Tail(40))
		case <-ctx.Done():
			return "", fmt.Errorf("%s did not print %s: %w\n%s", p.Name, pattern, context.Cause(ctx), p.Tail(40))
		case <-tick.C:
		}
	}
}

// ending is how the process ended.
func (p *Process) ending() error {
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// PID is the process's id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop sends SIGTERM and waits. It is an error if the exit code is not 0, if it takes longer than patience, or if the process had ended
// before. After Stop or Kill it does nothing.
func (p *Process) Stop(patience time.Duration) error {
	if p.told.Swap(true) {
		return nil
	}
	if !p.Running() {
		return fmt.Errorf("%s had ended before it was stopped: %w", p.Name, p.ending())
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", p.Name, err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		p.Kill()
		return fmt.Errorf("%s was still running %s after SIGTERM", p.Name, patience)
	}
	if p.err != nil {
		return fmt.Errorf("%s ended with: %w", p.Name, p.err)
	}
	return nil
}

// Pause stops all threads of the process (SIGSTOP); its connections stay open and silent.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume undoes Pause (SIGCONT).
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil {
		return fmt.Errorf("sending %v to %s: %w", s, p.Name, err)
	}
	return nil
}

// Printed is what the process has printed so far.
func (p *Process) Printed() (string, error) {
	printed, err := os.ReadFile(p.log)
	if err != nil {
		return "", fmt.Errorf("reading the log of %s: %w", p.Name, err)
	}
	return string(printed), nil
}

// Kill ends the process at once and waits until it is gone.
func (p *Process) Kill() {
	p.told.Store(true)
	if p.Running() {
		_ = p.cmd.Process.Kill() // it fails only if the process has just ended
	}
	<-p.done
}

// Tail is the end of the log, with the process's name, for a failed test.
func (p *Process) Tail(lines int) string {
	printed, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(printed), "\n"), "\n")
	if len(all) > lines {
		all = append([]string{fmt.Sprintf("… %d lines", len(all)-lines)}, all[len(all)-lines:]...)
	}
	return "--- " + p.Name + "\n" + strings.Join(all, "\n")
}

// Environ is the environment without FOOTFALL_… variables: a caller's own settings must not change the tests.
func Environ() []string {
	var out []string
	for _, pair := range os.Environ() {
		if !strings.HasPrefix(pair, "FOOTFALL_") {
			out = append(out, pair)
		}
	}
	return out
}
