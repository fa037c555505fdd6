// Package harness has what tests of processes share: the test binary run as a program, the binaries of this module, a log that can be
// read while it is written, and a wait with a deadline.
package harness

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"footfall/test/e2e/process"
)

// as is the environment variable with the program that a test binary runs as.
const as = "FOOTFALL_TEST_AS"

// As is the setting that makes a test binary run as one of Main's programs.
func As(program string) string { return as + "=" + program }

// Main is TestMain for tests that run their own binary as a program: exit codes and signals are then those of a process, and nothing is
// built twice. It runs the program that the environment names, or else the tests. It does not return.
func Main(m *testing.M, programs map[string]func()) {
	play, ok := programs[os.Getenv(as)]
	if !ok {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(as) // never fails for a name that is there
	play()
	os.Exit(0)
}

// Self is a command that runs this test binary as one of Main's programs. Of FOOTFALL_… variables it has those in env only. It is killed
// when the test ends, or after ten minutes.
func Self(t testing.TB, program string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = append(append(process.Environ(), As(program)), env...)
	return cmd
}

// Launch starts a command and returns the first line that it prints. It is killed, and waited for, when the test ends.
func Launch(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s did not start: %v", cmd.Path, err)
	}
	return strings.TrimSpace(line)
}
