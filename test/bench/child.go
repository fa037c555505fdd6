package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"time"

	"footfall/test/bench/machine"
	"footfall/test/bench/subject"
)

// task is what a process of its own measures, so that nobody's garbage burdens another.
type task struct {
	subject.Place
	Kind          string
	Events        int
	Uniques       int // that they make
	Prefix        int // of the events, on which Cassandra's limit is measured
	PrefixUniques int // that those make
	Seconds       int // the most it may take
	Links         uint64
	Scratch       string // directory of Spark's checkpoints
	Warm          string // suffix of tables that Spark fills before it is measured; empty: it does not
}

// prefix is the same for no more than Cassandra's limit is measured on.
func (t task) prefix() task {
	t.Events, t.Uniques = t.Prefix, t.PrefixUniques
	return t
}

// measured is what came out.
type measured struct {
	Events     int
	Seconds    float64
	Requests   float64
	Statements float64
	CPU        float64 // seconds of the process in that time
	ServerCPU  float64 // of Cassandra, 0 if unknown
	Peak       int64   // bytes of memory
	Note       string

	// Of footfall only.
	Keys   float64 // mutations: writes of a key with its counters
	Kinds  map[string]float64
	Values map[string]float64 // what else is worth telling
}

func (m measured) rate() float64 { return float64(m.Events) / m.Seconds }

// mean of what was measured twice, on the same events.
func mean(a, b measured) measured {
	a.Note = fmt.Sprintf("the mean of %.1f and %.1f s", a.Seconds, b.Seconds)
	a.Seconds, a.CPU, a.ServerCPU = (a.Seconds+b.Seconds)/2, (a.CPU+b.CPU)/2, (a.ServerCPU+b.ServerCPU)/2
	a.Requests, a.Statements, a.Peak = (a.Requests+b.Requests)/2, (a.Statements+b.Statements)/2, max(a.Peak, b.Peak)
	a.Keys = (a.Keys + b.Keys) / 2
	return a
}

var children = map[string]func(context.Context, task) (measured, error){
	"kafka": measureKafka, "usual": measureUsual, "sink": measureSink,
	"null": measureNull, "bare": measureBare, "writer": measureWriter,
}

// self is this program, wherever it is called from.
func self() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

// running is a task at work in a process of its own.
type running struct {
	kind string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
}

func startChild(ctx context.Context, t task) (*running, error) {
	argument, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	r := &running{kind: t.Kind, cmd: exec.CommandContext(ctx, self(), "child", string(argument))}
	if t.Kind == spark.name {
		r.cmd = sparkCommand(ctx, string(argument))
	}
	r.cmd.Stderr = os.Stderr
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.out = json.NewDecoder(out)
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("measuring %s: %w", t.Kind, err)
	}
	return r, nil
}

// said waits for what the child says next.
func (r *running) said(what any) error {
	if err := r.out.Decode(what); err != nil {
		return errors.Join(fmt.Errorf("measuring %s: %w", r.kind, err), r.end())
	}
	return nil
}

// end lets the child end.
func (r *running) end() error {
	if err := errors.Join(r.in.Close(), r.cmd.Wait()); err != nil {
		return fmt.Errorf("measuring %s: %w", r.kind, err)
	}
	return nil
}

// inChild runs a task in a process of its own.
func inChild(ctx context.Context, t task) (m measured, err error) {
	r, err := startChild(ctx, t)
	if err != nil {
		return m, err
	}
	if err := r.said(&m); err != nil {
		return m, err
	}
	return m, r.end()
}

func child(ctx context.Context, argument string) error {
	var t task
	if err := json.Unmarshal([]byte(argument), &t); err != nil {
		return err
	}
	if dir := os.Getenv("BENCH_PROFILE"); dir != "" {
		stop, err := profile(filepath.Join(dir, t.Kind+t.Suffix))
		if err != nil {
			return err
		}
		defer stop()
	}
	if t.Kind == limit.name {
		return replay(ctx, t, os.Stdin, json.NewEncoder(os.Stdout))
	}
	m, err := children[t.Kind](ctx, t)
	if err != nil {
		return err
	}
	if m.Peak == 0 { // asked here: what the parent is told of a child's memory begins with its own
		if _, m.Peak, err = machine.Cost(os.Getpid()); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}

// profile writes where the processor time of this process goes, for whoever wants to know (BENCH_PROFILE=directory).
func profile(path string) (stop func(), err error) {
	file, err := os.Create(path + ".cpu.pprof")
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, err
	}
	return func() {
		pprof.StopCPUProfile()
		_ = file.Close()
		if heap, err := os.Create(path + ".allocs.pprof"); err == nil {
			_ = pprof.Lookup("allocs").WriteTo(heap, 0)
			_ = heap.Close()
		}
	}, nil
}

// stopwatch measures time and processor time of this process.
type stopwatch struct {
	at  time.Time
	cpu float64
}

func begin() stopwatch { return stopwatch{time.Now(), ownCPU()} }

func (s stopwatch) end(m *measured) {
	m.Seconds, m.CPU = time.Since(s.at).Seconds(), ownCPU()-s.cpu
}

func ownCPU() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}
