package export

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestAnErrorSaysWhatIsThere when names could not be given to both files.
func TestAnErrorSaysWhatIsThere(t *testing.T) {
	full := errors.New("the disk is full")
	f := func(what string, failing int, changed, before bool, want ...string) {
		t.Helper()
		dir := t.TempDir()
		path, renames := filepath.Join(dir, "x"), 0
		rename = func(from, to string) error {
			if renames++; renames == failing {
				return full
			}
			return os.Rename(from, to)
		}
		defer func() { rename = os.Rename }()
		there := []string{"a", "b"}
		if before {
			there = append(there, "x", "x.manifest.json")
		}
		for _, name := range there {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := place(path, filepath.Join(dir, "a"), filepath.Join(dir, "b")); !errors.Is(err, full) || errors.Is(err, ErrChanged) != changed {
			t.Errorf("%s: %v", what, err)
		}
		for _, name := range want {
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := os.Stat(ManifestOf(path)); err == nil {
			t.Errorf("%s: a manifest is beside rows that are not its own", what)
		}
	}
	f("no rows", 1, false, false)
	f("no rows, of an earlier export", 1, true, true, "x")
	f("no manifest", 2, true, false, "x")
	f("no manifest, of an earlier export", 2, true, true, "x")
}
