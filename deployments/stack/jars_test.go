package stack

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeMaven puts an mvn on the PATH that runs the script, with $out set to the folder for the jars.
func fakeMaven(t *testing.T, script string) {
	t.Helper()
	bin := t.TempDir()
	text := "#!/bin/sh\nfor a; do case $a in -DoutputDirectory=*) out=${a#*=};; esac; done\n" + script
	if err := os.WriteFile(filepath.Join(bin, "mvn"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
}

var thing = product{name: "thing", version: "1.2", pom: "<version>{{.Version}}</version>"}

func TestFetchOnce(t *testing.T) {
	calls := filepath.Join(t.TempDir(), "calls")
	fakeMaven(t, `echo x >>`+calls+`; mkdir $out; cp pom.xml $out/a.jar`)
	dir := filepath.Join(t.TempDir(), "jars")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			got, err := thing.fetch(t.Context(), dir, t.Logf)
			if err != nil || got != filepath.Join(dir, "thing-1.2") {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(calls); err != nil || string(b) != "x\n" {
		t.Errorf("Maven ran %d times (%v)", len(b)/2, err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "thing-1.2", "a.jar")); err != nil || string(b) != "<version>1.2</version>" {
		t.Errorf("the pom was %q (%v)", b, err)
	}
}

func TestFailedFetchLeavesNothingBehind(t *testing.T) {
	fakeMaven(t, `mkdir $out; echo half >$out/a.jar; echo "[ERROR] no route to host"; exit 1`)
	dir := t.TempDir()
	_, err := thing.fetch(t.Context(), dir, t.Logf)
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "no route to host") {
		t.Fatalf("%v; want ErrUnavailable and Maven's reason", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "thing*")); len(left) > 0 {
		t.Fatalf("left behind: %v", left)
	}
}

func TestInterruptedFetchIsNotComplete(t *testing.T) {
	fakeMaven(t, `mkdir $out; echo half >$out/a.jar; exec sleep 600`)
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := thing.fetch(ctx, dir, t.Logf); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v; want the context's error", err)
	}
	if exists(filepath.Join(dir, "thing-1.2")) {
		t.Fatal("the interrupted fetch was taken for complete")
	}
}

func TestWithoutMaven(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := thing.fetch(t.Context(), t.TempDir(), t.Logf); !errors.Is(err, ErrUnavailable) {
		t.Fatalf("%v; want ErrUnavailable", err)
	}
}

func TestProgress(t *testing.T) {
	d := &downloads{}
	for _, l := range []string{
		"Downloading from central: https://repo.example/a.jar",
		"Downloaded from central: https://repo.example/a.jar (53 kB at 1.2 MB/s)",
		"[INFO] Downloaded from central: https://repo.example/b.jar (10.5 MB at 4 MB/s)",
		"Downloaded from central: https://repo.example/c.pom (970 B at 3 kB/s)",
	} {
		d.line(l)
	}
	if got, want := d.String(), "3 files, 11 MB downloaded"; got != want {
		t.Fatalf("%q, want %q", got, want)
	}
}
