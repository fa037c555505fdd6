package stack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestFindJava(t *testing.T) {
	f := func(version string, want int) {
		t.Helper()
		home := t.TempDir()
		if err := os.Mkdir(filepath.Join(home, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		script := fmt.Sprintf("#!/bin/sh\necho '%s' >&2\n", version)
		if err := os.WriteFile(filepath.Join(home, "bin", "java"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("JAVA_HOME", home)
		_, major, err := findJava(t.Context())
		if major != want || (want == 0) != errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: %d, %v; want %d", version, major, err, want)
		}
	}
	f(`openjdk version "17.0.15" 2025-04-15`, 17)
	f(`openjdk version "21" 2023-09-19`, 21)
	f(`java version "1.8.0_292"`, 0)
	f(`openjdk version "11.0.2" 2019-01-15`, 0)
	f(`The operation couldn't be completed. Unable to locate a Java Runtime.`[:13], 0)

	t.Setenv("JAVA_HOME", t.TempDir())
	if err := Available(t.Context()); !errors.Is(err, ErrUnavailable) {
		t.Errorf("no java in JAVA_HOME: %v", err)
	}
}
