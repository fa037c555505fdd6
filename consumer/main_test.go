package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestCommandLine(t *testing.T) {
	f := func(want commandLine, wantErr string, args ...string) {
		t.Helper()
		got, err := parse(args)
		if wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), wantErr) {
				t.Errorf("parse(%q): %v, want %q", args, err, wantErr)
			}
			return
		}
		if err != nil || got != want {
			t.Errorf("parse(%q) = %+v, %v; want %+v", args, got, err, want)
		}
	}
	f(commandLine{}, "")
	f(commandLine{file: "x.yaml"}, "", "--config", "x.yaml")
	f(commandLine{name: "migrate", file: "x.yaml"}, "", "migrate", "--config", "x.yaml")
	f(commandLine{name: "audit", repair: true}, "", "audit", "--repair")
	f(commandLine{name: "audit", repair: true, file: "x.yaml"}, "", "--config", "x.yaml", "audit", "--repair")
	f(commandLine{}, "unknown argument", "count")
	f(commandLine{}, "unknown argument", "audit", "everything")
	f(commandLine{}, "--repair belongs to audit", "--repair")
	f(commandLine{}, "not defined", "--bogus")
}

func TestUsage(t *testing.T) {
	var out bytes.Buffer
	if err := command(t.Context(), []string{"migrate", "--help"}, &out, &out); err != nil || !strings.Contains(out.String(), "audit [--repair]") {
		t.Errorf("help: %v, %q", err, out.String())
	}
	if err := command(t.Context(), []string{"--config", "no-such-file.yaml"}, &out, &out); !errors.Is(err, errUsage) {
		t.Errorf("a missing file: %v, want wrong usage", err)
	}
	t.Run("features", func(t *testing.T) {
		t.Setenv("FOOTFALL_FEATURES", "referrer,guid")
		if err := command(t.Context(), []string{"migrate"}, &out, &out); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "guid is the name") {
			t.Errorf("a feature that cannot be: %v, want wrong usage that names it", err)
		}
	})
	t.Setenv("FOOTFALL_KAFKA_BROKER", "typo")
	if err := command(t.Context(), nil, &out, &out); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), "FOOTFALL_KAFKA_BROKER") {
		t.Errorf("an unknown variable: %v, want wrong usage that names it", err)
	}
}
