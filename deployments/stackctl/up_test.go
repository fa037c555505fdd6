package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"footfall/deployments/stack"
)

// pretended is a fake server that records the calls.
type pretended struct {
	addr             string
	answers, running bool
	startErr         error
	did              []string
}

func (s *pretended) Fetch(context.Context) error { s.did = append(s.did, "fetch"); return nil }
func (s *pretended) Stop(context.Context) error  { s.did = append(s.did, "stop"); return nil }
func (s *pretended) Wipe() error                 { s.did = append(s.did, "wipe"); return nil }
func (s *pretended) Log() string                 { return s.addr + ".log" }
func (s *pretended) Addr() string                { return s.addr }

func (s *pretended) Start(context.Context) error {
	s.did = append(s.did, "start")
	s.answers = s.startErr == nil
	return s.startErr
}

func (s *pretended) PID() (int, error) {
	if s.running {
		return 4711, nil
	}
	return 0, stack.ErrNotRunning
}

// bench is a control with two fake servers, on a machine that has only the named programs. These are fakes that record their arguments and
// succeed; ran returns the records.
type bench struct {
	control
	kafka, cassandra *pretended
	out              bytes.Buffer
	calls            string
}

func newBench(t *testing.T, programs ...string) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{kafka: &pretended{addr: "k:1"}, cassandra: &pretended{addr: "c:2"}, calls: filepath.Join(dir, "calls")}
	for _, p := range programs {
		script := "#!/bin/sh\necho " + p + " $* >>" + b.calls + "\necho 'openjdk version \"17.0.1\"' >&2\n"
		if err := os.WriteFile(filepath.Join(dir, p), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	t.Setenv("JAVA_HOME", "")
	b.control = control{root: dir, dir: filepath.Join(dir, ".stack"), bare: true, say: newSayer(&b.out)}
	for name, s := range map[string]*pretended{"kafka": b.kafka, "cassandra": b.cassandra} {
		b.servers = append(b.servers, server{managed: s, name: name, ask: func(context.Context) error {
			if s.answers {
				return nil
			}
			return errors.New("nobody there")
		}})
	}
	return b
}

// ran returns the command lines of the programs that were run, without those that ask for a version.
func (b *bench) ran(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(b.calls)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if l != "" && !strings.Contains(l, "version") && !strings.Contains(l, "docker info") {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "; ")
}

func TestUpLeavesRunningServersAlone(t *testing.T) {
	b := newBench(t, "docker", "java", "mvn", "go")
	b.kafka.answers, b.cassandra.answers, b.kafka.running = true, true, true
	if err := b.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(b.kafka.did)+len(b.cassandra.did) > 0 || b.ran(t) != "" {
		t.Errorf("did %v %v %q", b.kafka.did, b.cassandra.did, b.ran(t))
	}
	for _, want := range []string{"kafka already answers on k:1: pid 4711, log k:1.log", "cassandra already answers on c:2 (not started"} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("no %q in\n%s", want, b.out.String())
		}
	}
}

func TestUpWithAnEngine(t *testing.T) {
	b := newBench(t, "docker", "java", "mvn")
	if err := b.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := b.ran(t), "docker compose up -d --wait kafka cassandra"; got != want || b.kafka.did != nil {
		t.Errorf("ran %q and %v, want %q", got, b.kafka.did, want)
	}
	b.wipe = true
	if err := b.down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := b.ran(t); !strings.HasSuffix(got, "; docker compose down --volumes") {
		t.Errorf("ran %q", got)
	}
	if b.composeIsOurs() {
		t.Error("down left the file that says that compose is used")
	}
}

func TestUpWithTheJars(t *testing.T) {
	f := func(name string, prepare func(*bench), programs ...string) {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, programs...)
			prepare(b)
			if err := b.up(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(b.cassandra.did, " "); got != "fetch start" || b.ran(t) != "" {
				t.Errorf("did %q, ran %q", got, b.ran(t))
			}
		})
	}
	f("no engine", func(*bench) {}, "java", "mvn")
	f("asked for", func(b *bench) { b.jars = true }, "docker", "java", "mvn")
	// a container engine was started since: its kafka would find the port taken
	f("kafka runs from them", func(b *bench) { b.kafka.running, b.kafka.answers = true, true }, "docker", "java", "mvn")
}

func TestUpWithoutEngineAndJava(t *testing.T) {
	f := func(optional, ci, fails bool) {
		t.Helper()
		b := newBench(t)
		b.optional, b.ci = optional, ci
		err := b.up(t.Context())
		if fails != (err != nil) || err != nil && !errors.Is(err, stack.ErrUnavailable) {
			t.Errorf("optional %v, CI %v: %v", optional, ci, err)
		}
		if lines := strings.Count(b.out.String(), "\n"); !fails && (lines != 1 || !strings.Contains(b.out.String(), "skipped")) {
			t.Errorf("said %q, want one line", b.out.String())
		}
	}
	f(false, false, true)
	f(true, false, false)
	f(true, true, true)
}

// If this machine can run the stack, but a server does not start, up fails, with --optional too.
func TestUpFailsIfAServerDoesNotStart(t *testing.T) {
	b := newBench(t, "java", "mvn")
	b.optional, b.cassandra.startErr = true, errors.New("the disk is full")
	err := b.up(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the disk is full") || !strings.Contains(err.Error(), "What to do") {
		t.Fatal(err)
	}
	if b.kafka.did[len(b.kafka.did)-1] != "start" {
		t.Errorf("kafka: %v; want it started all the same", b.kafka.did)
	}
}

func TestUpCreatesTablesAndTopics(t *testing.T) {
	b := newBench(t, "go")
	b.bare, b.kafka.answers, b.cassandra.answers = false, true, true
	if err := b.up(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := b.ran(t), "go run ./consumer migrate; go run ./producer topics"; got != want {
		t.Errorf("ran %q, want %q", got, want)
	}
	for _, want := range []string{"bin/producer   # takes events on http://127.0.0.1:8080", "bin/consumer ", "bin/reader     # shows the counts on http://127.0.0.1:8082"} {
		if !strings.Contains(b.out.String(), want) {
			t.Errorf("no %q in what to start next:\n%s", want, b.out.String())
		}
	}
}

func TestDownStopsOnlyItsOwnServers(t *testing.T) {
	b := newBench(t, "docker")
	b.kafka.running, b.kafka.answers, b.cassandra.answers = true, true, true
	if err := b.down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if strings.Join(b.kafka.did, " ") != "stop" || b.cassandra.did != nil || b.ran(t) != "" {
		t.Errorf("did %v and %v, ran %q", b.kafka.did, b.cassandra.did, b.ran(t))
	}
}

func TestStatus(t *testing.T) {
	b := newBench(t)
	b.kafka.answers = true
	if err := b.status(t.Context()); err == nil || !strings.Contains(err.Error(), "cassandra does not answer: run make up") {
		t.Fatal(err)
	}
	b.cassandra.answers = true
	if err := b.status(t.Context()); err != nil {
		t.Fatal(err)
	}
}
