package footfall_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The most lines of a file, and of a package without its tests: a reader has to keep them in mind.
const (
	maxFileLines    = 350
	maxPackageLines = 2500
)

// oversized are files and packages that are still larger. The list only gets shorter.
var oversized = map[string]bool{}

func TestFilesAndPackagesStaySmall(t *testing.T) {
	packages, found := map[string]int{}, map[string]bool{}
	large := func(what string, lines, most int) {
		if lines <= most {
			return
		}
		if found[what] = true; !oversized[what] {
			t.Errorf("%s has %d lines, want at most %d: split it", what, lines, most)
		}
	}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && file != "." {
			return fs.SkipDir
		}
		if entry.IsDir() || filepath.Ext(file) != ".go" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		lines := bytes.Count(text, []byte("\n"))
		large(file, lines, maxFileLines)
		if !strings.HasSuffix(file, "_test.go") {
			packages[filepath.Dir(file)] += lines
		}
		return nil
	})
	if err != nil || len(packages) < 10 {
		t.Fatalf("%d packages, %v", len(packages), err)
	}
	for folder, lines := range packages {
		large(folder, lines, maxPackageLines)
	}
	for what := range oversized {
		if !found[what] {
			t.Errorf("%s is small by now: take it off the list", what)
		}
	}
}
