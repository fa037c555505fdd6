package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
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
}

// TestBadInput: exit code 2 and one line on stderr.
func TestBadInput(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f := func(want, env string, args ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, self, args...)
		cmd.Env = append(os.Environ(), asConsumer+"=1", "FOOTFALL_CASSANDRA_PORT=1", env)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s %q: %v, want exit code 2 and one line with %q: %s", env, args, err, want, errs.String())
		}
	}
	f("unknown argument", "", "count")
	f("no-such-file.yaml", "", "--config", "no-such-file.yaml")
	f("FOOTFALL_KAFKA_BROKER", "FOOTFALL_KAFKA_BROKER=typo")
	f("Chunk.max_events", "FOOTFALL_CHUNK_MAX_EVENTS=many")
	f("chunk.max_events", "FOOTFALL_CHUNK_MAX_EVENTS=0", "audit")
	f("guid is the name", "FOOTFALL_FEATURES=referrer,guid", "migrate")
	f("http.addr", "FOOTFALL_HTTP_ADDR=nowhere")
	f("cassandra.keyspace_suffix", "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=Ä", "migrate")
	f("cassandra.tls", "FOOTFALL_CASSANDRA_TLS_CA=ca.pem")
}

// asConsumer makes the test binary behave as the consumer, so that exit codes are those of a process.
const asConsumer = "FOOTFALL_TEST_AS_CONSUMER"

func TestMain(m *testing.M) {
	if os.Getenv(asConsumer) != "" {
		main()
	}
	os.Exit(m.Run())
}
