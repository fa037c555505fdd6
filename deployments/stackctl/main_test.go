package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	wrong := func(line, want string) {
		t.Helper()
		var out bytes.Buffer
		err := command(t.Context(), strings.Fields(line), &out)
		if !errors.Is(err, errUsage) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || out.Len() > 0 {
			t.Errorf("%q: %v\n%s", line, err, out.String())
		}
	}
	wrong("", `"" is no command`)
	wrong("sideways", `"sideways" is no command`)
	wrong("up --sideways", "-sideways")
	wrong("up now", `unknown argument "now"`)
	for _, line := range []string{"--help", "up --help"} {
		var out bytes.Buffer
		if err := command(t.Context(), strings.Fields(line), &out); err != nil || !strings.Contains(out.String(), "Usage: ") || !strings.Contains(out.String(), "-optional") {
			t.Errorf("%q: %v\n%s", line, err, out.String())
		}
	}
}
