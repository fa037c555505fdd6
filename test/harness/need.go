package harness

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Need skips the test if a tool that it needs is missing, as err says, or fails it with CI=true.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("with CI=true this test must run: %v", err)
	default:
		t.Skip(err)
	}
}

// NeedDebian is Need for a program that a target of the Makefile installs under its own name.
func NeedDebian(t testing.TB, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		err = fmt.Errorf("%s is missing: run make %s (%w)", name, name, err)
	}
	Need(t, err)
	return path
}
