package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"footfall/test/e2e/process"
)

// Binaries are commands of this module, built from the sources when the first Path is asked for. Safe for concurrent use.
type Binaries struct {
	Commands []string // such as "producer"

	dir  string
	once sync.Once
	err  error
}

// Main is TestMain for a suite that uses them: it runs the tests and removes what was built. It does not return.
func (b *Binaries) Main(m *testing.M) {
	dir, err := os.MkdirTemp("", "footfall-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	b.dir = dir
	code := m.Run()
	_ = os.RemoveAll(dir) // what is left is in the system's temporary directory
	os.Exit(code)
}

// Path is the path of one binary. The first call builds all, which takes minutes on a busy machine.
func (b *Binaries) Path(t testing.TB, name string) string {
	t.Helper()
	b.once.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		b.err = process.Build(ctx, b.dir, b.Commands...)
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return filepath.Join(b.dir, name)
}
