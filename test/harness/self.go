// Package harness is what tests on processes begin with: the test binary itself as a program, the binaries of this module, and a log
// that is read while it is written.
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

// as, in the environment, names the program that a test binary is to be.
const as = "FOOTFALL_TEST_AS"

// As is the variable that makes a test binary one of Main's programs.
func As(program string) string { return as + "=" + program }

// Main is TestMain for tests that run their own binary as a program: exit codes and signals are then those of a process, and nothing
// is built twice. It plays the program that the environment names, or runs the tests. It does not return.
func Main(m *testing.M, programs map[string]func()) {
	play, ok := programs[os.Getenv(as)]
	if !ok {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(as) // never fails for a name that is there
	play()
	os.Exit(0)
}

// Self prepares this test binary as one of Main's programs. Of footfall's variables it has those in env and no others. If it still
// runs when the test ends, or after ten minutes, it is killed.
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
