//go:build unix

package main

import (
	"io/fs"
	"os"
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

// TestPrivateFiles: only its user may read what a process writes, and what an earlier version left readable for others.
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

	other := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, _ error) error { return os.Chmod(path, 0o755) })
	if err != nil {
		t.Fatal(err)
	}
	terminate(t, launch(t, dir))
	if got := open(t, dir); len(got) != 2 { // the other file, and the directory that has it
		t.Errorf("made by an earlier version, others may read %q", got)
	}
	if err := os.Remove(other); err != nil {
		t.Fatal(err)
	}
	terminate(t, launch(t, dir))
	if got := open(t, dir); len(got) > 0 {
		t.Errorf("others may read %q", got)
	}
}
