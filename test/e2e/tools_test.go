package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// need skips the test if a tool that it needs is missing, as err says, or fails it with CI=true.
func need(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("with CI=true this test must run: %v", err)
	default:
		t.Skip(err)
	}
}

// needDebian is need for a program that a target of the Makefile installs under its own name.
func needDebian(t *testing.T, name string) (path string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		err = fmt.Errorf("%s is missing: run make %s (%w)", name, name, err)
	}
	need(t, err)
	return path
}

// installPython makes a fresh virtual environment in dir and installs packages, given as for pip install, in it.
func installPython(ctx context.Context, dir string, packages ...string) error {
	if err := os.RemoveAll(dir); err != nil { // a half-made one, or another version
		return err
	}
	for _, line := range [][]string{
		{"python3", "-m", "venv", dir},
		append([]string{filepath.Join(dir, "bin", "pip"), "install", "--quiet"}, packages...),
	} {
		if printed, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("installing %s: %s: %w\n%s", filepath.Base(dir), strings.Join(line, " "), err, printed)
		}
	}
	return nil
}
