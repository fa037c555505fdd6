package stack

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// absolute returns the folder's canonical path, with symbolic links resolved. The marker of a running server contains it, and another process
// may have another working directory. The folder need not exist yet.
func absolute(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir // there is no working directory; the next use of dir fails and says so
	}
	for p := abs; p != filepath.Dir(p); p = filepath.Dir(p) {
		if real, err := filepath.EvalSymlinks(p); err == nil {
			return filepath.Join(real, strings.TrimPrefix(abs, p))
		}
	}
	return abs
}

// writeFiles writes each file, making its folder first.
func writeFiles(files map[string][]byte) error {
	for path, content := range files {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("writing the configuration: %w", err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return fmt.Errorf("writing the configuration: %w", err)
		}
	}
	return nil
}

// wipe removes what the server wrote.
func (p process) wipe() error {
	if pid, err := p.pid(); err == nil {
		return fmt.Errorf("wiping %s: it is running (pid %d): stop it first", p.name, pid)
	}
	for _, f := range []string{filepath.Join(p.dir, p.name), p.logFile(), p.logFile() + ".old", p.pidFile()} {
		if err := os.RemoveAll(f); err != nil {
			return fmt.Errorf("wiping %s: %w", p.name, err)
		}
	}
	return nil
}
