package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"footfall/test/harness"
)

// cqlsh is the analysts' shell, from PyPI. It runs on Python 3.8 to 3.11: later versions lack a module that its driver needs.
const cqlshVersion = "6.2.2"

// cqlshDir is where it is installed, once for all runs, beside the servers' jars.
var cqlshDir = filepath.Join("..", "..", ".stack", "cqlsh")

var cqlshInstalled = sync.OnceValue(func() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if got, err := exec.CommandContext(ctx, cqlshPath(), "--version").Output(); err == nil && strings.Contains(string(got), cqlshVersion) {
		return nil
	}
	return installPython(ctx, cqlshDir, "cqlsh=="+cqlshVersion)
})

func cqlshPath() string { return filepath.Join(cqlshDir, "bin", "cqlsh") }

// cqlsh runs statements as an analyst would and returns the rows that it prints for each. It is installed if need be. If that fails,
// the test is skipped, or fails with CI=true.
func cqlsh(t *testing.T, host string, port int, statements []string) [][][]string {
	t.Helper()
	harness.Need(t, cqlshInstalled())
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, cqlshPath(), "--no-color", "--request-timeout=30", "-e", strings.Join(statements, ";\n")+";",
		host, strconv.Itoa(port))
	cmd.Env = append(os.Environ(), "TZ=UTC", "LC_ALL=C.UTF-8", "HOME="+t.TempDir()) // without anybody's cqlshrc
	printed, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("cqlsh: %v\n%s", err, printed)
	}
	answers, err := parseTables(string(printed))
	if err != nil || len(answers) != len(statements) {
		t.Fatalf("%d answers to %d statements: %v\n%s", len(answers), len(statements), err, printed)
	}
	return answers
}

var rowCount = regexp.MustCompile(`^\((\d+) rows?\)$`)

// parseTables reads what a shell prints for each statement: column names, a line of dashes, rows with " | " between the values, and the
// number of rows. A value may contain a |, but not one with spaces around it.
func parseTables(printed string) ([][][]string, error) {
	var tables [][][]string
	var rows [][]string
	begun := false
	for padded := range strings.Lines(printed) {
		line := strings.TrimSpace(padded)
		count := rowCount.FindStringSubmatch(line)
		switch {
		case line == "":
		case count != nil:
			if count[1] != strconv.Itoa(len(rows)) {
				return nil, fmt.Errorf("reading a table: %d rows were printed, but it says %s", len(rows), line)
			}
			tables, rows, begun = append(tables, rows), nil, false
		case strings.Trim(line, "-+") == "":
			begun = true
		case begun:
			row := strings.Split(padded, " | ")
			for i := range row {
				row[i] = canonical(strings.TrimSpace(row[i]))
			}
			rows = append(rows, row)
		}
	}
	if begun {
		return nil, errors.New("reading a table: it has no end")
	}
	return tables, nil
}

// ask implements deployment.
func (d *real) ask(t *testing.T, queries []string) [][][]string {
	t.Helper()
	return cqlsh(t, d.host, d.port, d.own(queries))
}

// own replaces the names of the keyspaces with those of this test, and changes nothing else.
func (d *real) own(queries []string) []string {
	var own []string
	for _, q := range queries {
		for _, keyspace := range []string{"urlshortener", "cardinality"} {
			q = strings.Replace(q, "FROM "+keyspace+".", "FROM "+keyspace+d.suffix+".", 1)
		}
		own = append(own, q)
	}
	return own
}
