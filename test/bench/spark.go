package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"footfall/test/bench/workload"
)

// spark is a rival that is not ours: Spark Structured Streaming with the Cassandra connector, in the directory spark.
var spark = side{name: "spark", title: "Spark Structured Streaming", writes: true, clicksOnly: true}

const sparkTarget = ".tools/spark"

func (b *bench) wantsSpark() bool {
	return b.before == "" && slices.ContainsFunc(workload.All, func(w workload.Workload) bool {
		return b.wantsSide(w, spark) && (b.wants(w.Name, parts...) || b.wants("crash", parts...))
	})
}

// buildSpark has Maven fetch Spark and compile the job, below the root of the sources.
func buildSpark(ctx context.Context) error {
	fmt.Fprintln(os.Stderr, "compiling the rival that runs on Spark: the first time Maven fetches 230 MB")
	if err := os.RemoveAll(sparkTarget); err != nil { // what an older version needed
		return err
	}
	err := run(ctx, "mvn", "--quiet", "--batch-mode", "--file", "test/bench/spark/pom.xml", "compile", "dependency:copy-dependencies", "-DincludeScope=runtime")
	if err != nil {
		return fmt.Errorf("building the rival on Spark (it needs Maven and Java 17; FLAGS='-sides usual,sink,footfall,replay' leaves it out): %w", err)
	}
	return nil
}

// sparkCommand runs the job. Spark needs to see inside of Java 17.
func sparkCommand(ctx context.Context, argument string) *exec.Cmd {
	args := []string{"-Xmx4g"}
	for _, inside := range strings.Fields("java.lang java.lang.invoke java.lang.reflect java.io java.net java.nio java.util java.util.concurrent java.util.concurrent.atomic sun.nio.ch sun.nio.cs sun.security.action sun.util.calendar") {
		args = append(args, "--add-opens=java.base/"+inside+"=ALL-UNNAMED")
	}
	return exec.CommandContext(ctx, "java", append(args, "-cp", sparkTarget+"/classes:"+sparkTarget+"/dependency/*", "Rival", argument)...)
}

// onSpark measures the job in tables of its own, after it has filled others and these are gone.
func (b *bench) onSpark(ctx context.Context, t task) (m measured, err error) {
	warm := t
	if warm.Suffix, err = b.migrate(ctx, t); err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, warm.Drop(context.WithoutCancel(ctx), b.session)) }() // if it has not come to that
	t.Scratch, t.Warm = b.Dir, warm.Suffix
	r, err := startChild(ctx, t)
	if err != nil {
		return m, err
	}
	var warmed bool
	if err := r.said(&warmed); err != nil {
		return m, err
	}
	if err := warm.Drop(ctx, b.session); err != nil {
		return m, errors.Join(err, r.end())
	}
	before := b.serverCPU()
	if _, err := fmt.Fprintln(r.in, "go on"); err != nil {
		return m, errors.Join(err, r.end())
	}
	if err := r.said(&m); err != nil {
		return m, err
	}
	m.ServerCPU = b.serverCPU() - before
	return m, r.end()
}
