package faults

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"footfall/test/harness"
)

var (
	all   = flag.Bool("faults.all", os.Getenv("FOOTFALL_TEST_FAULTS") != "", "run all faults, not the short form only")
	table = flag.String("faults.table", "", "write the table of results to this file, as Markdown")
	logs  = flag.String("faults.logs", "", "keep the logs of all processes in this folder")
)

var binaries = harness.Binaries{Commands: []string{"producer", "consumer", "test/faults/control"}}

func TestMain(m *testing.M) { binaries.Main(m) }

// logDir is where the processes of one world log.
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

// patiently is a context for what takes seconds, or minutes on a busy machine.
func patiently(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
