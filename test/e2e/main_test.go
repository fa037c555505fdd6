package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"testing"
	"time"

	"footfall/test/e2e/process"
	"footfall/test/harness"
)

var binaries = harness.Binaries{Commands: []string{"producer", "consumer", "reader", "embedded", "simulator"}}

func TestMain(m *testing.M) { binaries.Main(m) }

// start runs a binary until the test ends. Then the process must stop on SIGTERM with exit code 0. If the test has failed, the end of
// its log is shown.
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

// stop stops a process with SIGTERM, as an operator does.
func stop(t *testing.T, p *process.Process) {
	t.Helper()
	if err := p.Stop(time.Minute); err != nil {
		t.Errorf("%v\n%s", err, p.Tail(60))
	}
}

// unique is a name that no other test uses on the shared servers.
func unique() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	return "e2e" + hex.EncodeToString(b[:])
}
