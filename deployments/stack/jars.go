package stack

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"text/template"
)

// ErrUnavailable is wrapped by errors that mean that this machine cannot run the stack: no Java 17, no Maven, or no way to download the jars.
// Any other error means that the stack should run and does not.
var ErrUnavailable = errors.New("real Kafka and Cassandra cannot be run here")

// copyPlugin is pinned because Maven would else look up the newest.
const copyPlugin = "3.11.0"

// product is one set of jars: a name, a version, and the pom that lists them.
type product struct {
	name, version, pom string
}

// fetch downloads the product's jars to a folder under dir, unless they are there, and returns it. Maven copies into a temporary folder that is
// renamed at the end, so an interrupted fetch never looks complete. A lock makes parallel callers wait for the first.
func (p product) fetch(ctx context.Context, dir string, logf func(string, ...any)) (string, error) {
	target := filepath.Join(dir, p.name+"-"+p.version)
	if exists(target) {
		return target, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("making the jar folder: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(dir, ".lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if exists(target) { // another process fetched while this one waited
		return target, nil
	}
	tmp, err := os.MkdirTemp(dir, p.name+"-fetching-")
	if err != nil {
		return "", fmt.Errorf("making a folder to fetch into: %w", err)
	}
	defer func() { _ = os.RemoveAll(tmp) }() // the jars have moved; what is left is not used
	if err := p.maven(ctx, tmp, logf); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(tmp, "jars"), target); err != nil {
		return "", fmt.Errorf("keeping the fetched jars: %w", err)
	}
	return target, nil
}

// maven runs mvn dependency:copy-dependencies into tmp/jars.
func (p product) maven(ctx context.Context, tmp string, logf func(string, ...any)) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return fmt.Errorf("%w: no mvn on the PATH; install Maven 3.8 or newer", ErrUnavailable)
	}
	pom, err := render(p.pom, map[string]string{"Version": p.version})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "pom.xml"), pom, 0o644); err != nil {
		return fmt.Errorf("writing the pom: %w", err)
	}
	cmd := exec.CommandContext(ctx, mvn, "-B", "org.apache.maven.plugins:maven-dependency-plugin:"+copyPlugin+":copy-dependencies",
		"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(tmp, "jars"))
	cmd.Dir = tmp
	out, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("reading Maven's output: %w", err)
	}
	cmd.Stderr = cmd.Stdout
	logf("fetching the jars of %s %s with Maven", p.name, p.version)
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("%w: running mvn: %w", ErrUnavailable, err)
	}
	progress := &downloads{name: p.name, logf: logf}
	tail := progress.follow(bufio.NewScanner(out))
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("fetching the jars of %s: %w", p.name, ctx.Err())
		}
		return fmt.Errorf("%w: fetching the jars of %s: mvn: %w; its last lines:\n%s",
			ErrUnavailable, p.name, err, strings.Join(tail, "\n"))
	}
	logf("fetched the jars of %s: %s", p.name, progress)
	return nil
}

// render executes one of the embedded templates. A missing key is an error: "<no value>" in a configuration file would be noticed much later.
func render(text string, data any) ([]byte, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, fmt.Errorf("parsing a template: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, fmt.Errorf("rendering a template: %w", err)
	}
	return b.Bytes(), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
