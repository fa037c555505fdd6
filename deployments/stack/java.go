package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// Available returns nil if this machine has what the launcher needs: Java 17 or newer, and Maven. Else the error wraps ErrUnavailable and names
// what is missing.
func Available(ctx context.Context) error {
	if _, _, err := findJava(ctx); err != nil {
		return err
	}
	if _, err := exec.LookPath("mvn"); err != nil {
		return fmt.Errorf("%w: no mvn on the PATH; install Maven 3.8 or newer", ErrUnavailable)
	}
	return nil
}

var javaVersion = regexp.MustCompile(`version "(\d+)`)

// findJava returns the java of JAVA_HOME, else of the PATH, and its major version.
func findJava(ctx context.Context) (path string, major int, err error) {
	path = "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path = filepath.Join(home, "bin", "java")
	}
	path, err = exec.LookPath(path)
	if err != nil {
		return "", 0, fmt.Errorf("%w: no java: install Java 17 or set JAVA_HOME (%w)", ErrUnavailable, err)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", 0, fmt.Errorf("%w: running %s -version: %w", ErrUnavailable, path, err)
	}
	m := javaVersion.FindSubmatch(out)
	if m == nil {
		return "", 0, fmt.Errorf("%w: %s -version says %q; set JAVA_HOME to a Java 17", ErrUnavailable, path, out)
	}
	if major, err = strconv.Atoi(string(m[1])); err != nil || major < 17 {
		return "", 0, fmt.Errorf("%w: %s is Java %d; Kafka 4 needs 17: set JAVA_HOME", ErrUnavailable, path, major)
	}
	return path, major, nil
}
