package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"
)

// control is one run of the command with its flags.
type control struct {
	root                       string // the repository's, where commands run
	dir                        string
	optional, bare, wipe, jars bool
	ci                         bool
	servers                    []server
	say                        func(format string, args ...any)
}

// newSayer returns a function that prints lines with the seconds since the start. It is safe for concurrent use: the two servers start at the
// same time.
func newSayer(w io.Writer) func(string, ...any) {
	began := time.Now()
	var mu sync.Mutex
	return func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(w, "%5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
}

// findRoot looks for the folder of go.mod, from the working directory upwards.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("looking for the repository: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("looking for the repository: no go.mod here or above: run stackctl inside it")
		}
	}
}

// command prepares a program that runs in the root and prints to the same output.
func (c *control) command(ctx context.Context, line ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, line[0], line[1:]...)
	cmd.Dir = c.root
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd
}

// engineFile exists if up used compose, so that down uses it too.
func (c *control) engineFile() string { return filepath.Join(c.dir, "compose") }
