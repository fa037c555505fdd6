package deployments

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A known vulnerability is an error. A database that cannot be reached is only reported.
func TestVulnScript(t *testing.T) {
	tool := filepath.Join(t.TempDir(), "govulncheck")
	f := func(what, stub string, code int, want string) {
		t.Helper()
		if stub != "" {
			if err := os.WriteFile(tool, []byte("#!/bin/sh\n"+stub+"\n"), 0o700); err != nil { //nolint:gosec // it is to be run
				t.Fatal(err)
			}
		}
		cmd := exec.Command("bash", "vuln.sh", tool)
		cmd.Env = append(os.Environ(), "GOVULNDB=file:///db")
		printed, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(printed), want) || strings.Contains(string(printed), "NOT CHECKED") != strings.HasPrefix(want, "NOT CHECKED") {
			t.Errorf("%s: exit %d, %s; want %d and %q", what, got, printed, code, want)
		}
	}
	f("no tool", "", 0, "NOT CHECKED")
	f("nothing known", `echo "$@"`, 0, "-db file:///db ./...")
	f("something known", `echo GO-2026-0001; exit 3`, 1, "GO-2026-0001")
	f("no database", `echo "govulncheck: fetching vulnerabilities: no such host" >&2; exit 1`, 0, "NOT CHECKED")
	f("another failure", `echo "govulncheck: loading packages" >&2; exit 1`, 1, "loading packages")
}
