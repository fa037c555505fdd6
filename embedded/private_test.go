//go:build unix

package main

import (
	"io/fs"
	"path/filepath"
	"testing"
)

// open lists the files and directories in dir that other users may read, write or enter.
func open(t *testing.T, dir string) (paths []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		files++
		if info.Mode().Perm()&0o077 != 0 {
			paths = append(paths, info.Mode().String()+" "+path)
		}
		return nil
	})
	if err != nil || files < 10 {
		t.Fatalf("%d files in %s, %v", files, dir, err)
	}
	return paths
}

// TestPrivateFiles: only its user may read what a process writes.
func TestPrivateFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	p := launch(t, dir)
	mustPost(t, p.url, click("a", "203.0.113.7", "2018-10-01 14:05"))
	eventually(t, reader(t, dir), 1, clicks)
	if got := open(t, dir); len(got) > 0 {
		t.Errorf("others may read %q", got)
	}
	terminate(t, p)
	if got := open(t, dir); len(got) > 0 {
		t.Errorf("stopped, others may read %q", got)
	}
}
