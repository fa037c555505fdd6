package faults

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"footfall/test/e2e/process"
)

var (
	all   = flag.Bool("faults.all", os.Getenv("FOOTFALL_TEST_FAULTS") != "", "run all faults, not the short form only")
	table = flag.String("faults.table", "", "write the table of results to this file, as Markdown")
	logs  = flag.String("faults.logs", "", "keep the logs of all processes in this folder")
)

// workspace holds the binaries of this run.
var workspace string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "footfall-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in the system's temporary directory
	workspace = dir
	return m.Run()
}

var built = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	return process.Build(ctx, workspace, "producer", "consumer", "test/faults/control")
})

// binary is the path of a command of this module, built from the tree as it is.
func binary(t *testing.T, name string) string {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(workspace, name)
}

// logDir is where the processes of one world print to.
func logDir(t *testing.T, name string) string {
	t.Helper()
	if *logs == "" {
		return t.TempDir()
	}
	dir, err := filepath.Abs(filepath.Join(*logs, name))
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// within calls try until it succeeds, and gives up with its last error when patience is at an end.
func within(t *testing.T, patience time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// patiently is a context for things that take seconds, on a busy machine minutes.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
