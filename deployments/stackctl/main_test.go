package main

import (
	"bytes"
	"errors"
	"flag"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	f := func(line string, usage bool, help bool) {
		t.Helper()
		var out, errs bytes.Buffer
		err := command(t.Context(), strings.Fields(line), &out, &errs)
		var wrong usageError
		if errors.As(err, &wrong) != usage || errors.Is(err, flag.ErrHelp) != help {
			t.Errorf("%q: %v", line, err)
		}
		if !strings.Contains(errs.String(), "Usage: ") || !strings.Contains(errs.String(), "-optional") {
			t.Errorf("%q explains nothing: %s", line, errs.String())
		}
	}
	f("", true, false)
	f("sideways", true, false)
	f("up --sideways", true, false)
	f("up now", true, false)
	f("--help", false, true)
	f("up --help", false, true)
}
