package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

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
