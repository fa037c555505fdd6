package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// The data tells who visited what, so only its user may read it.
const privateDir, privateFile = 0o700, 0o600

// ours are the names of footfall's files in data.dir: the lock, the broker's log, the databases and SQLite's files beside them.
var ours = []string{"lock", "broker", "footfall.db*", "urlshortener.db*", "cardinality.db*"}

// tighten makes files of earlier versions in dir private. It leaves the permissions of dir itself alone if there are other files in it,
// which other users may need. The caller goes on after an error.
func tighten(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing data.dir: %w", err)
	}
	alone := true
	for _, e := range entries {
		if !known(e.Name()) {
			alone = false
			continue
		}
		if err := filepath.WalkDir(filepath.Join(dir, e.Name()), restrict); err != nil {
			return err
		}
	}
	if alone {
		return os.Chmod(dir, privateDir)
	}
	return nil
}

func known(name string) bool {
	return slices.ContainsFunc(ours, func(pattern string) bool {
		match, _ := filepath.Match(pattern, name) // the patterns are valid
		return match
	})
}

// restrict makes one file or directory private. It leaves others alone, such as links.
func restrict(path string, e fs.DirEntry, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil // SQLite removes files when the last reader leaves
	}
	if err != nil {
		return err
	}
	mode := fs.FileMode(privateFile)
	switch {
	case e.IsDir():
		mode = privateDir
	case !e.Type().IsRegular():
		return nil
	}
	info, err := e.Info()
	if err == nil && info.Mode().Perm() != mode {
		err = os.Chmod(path, mode)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
