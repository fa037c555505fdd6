package e2e

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"footfall/test/e2e/process"
)

// workspace holds the binaries of this run.
var workspace string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "footfall-e2e-")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in the system's temporary directory
	workspace = dir
	return m.Run()
}

var built = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return process.Build(ctx, workspace, "producer", "consumer", "embedded", "simulator")
})

// binary is the path of a command of this module, built from the tree as it is.
func binary(t *testing.T, name string) string {
	t.Helper()
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(workspace, name)
}

// start runs a binary until the test ends. Then it must stop when told to, with exit code 0; if the test has failed, the
// end of its log is shown.
func start(t *testing.T, c process.Command) *process.Process {
	t.Helper()
	p, err := process.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stop(t, p)
		if t.Failed() {
			t.Log(p.Tail(60))
		}
	})
	return p
}

// stop ends a process as an operator does.
func stop(t *testing.T, p *process.Process) {
	t.Helper()
	if err := p.Stop(30 * time.Second); err != nil {
		t.Errorf("%v\n%s", err, p.Tail(60))
	}
}

// unique is a name that nobody else on shared servers has.
func unique() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "e2e" + hex.EncodeToString(b[:])
}
