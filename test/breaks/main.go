// Command breaks breaks one line of the product after the other, in a copy, and demands that the tests meant for it fail. list.txt has the lines.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"footfall/deployments/stack"
	"footfall/internal/cli"
	"footfall/test/e2e/process"
)

func main() { os.Exit(cli.Main("breaks", command)) }

// command plays the breaks that are named: numbers, or words of their names, sentences or files. None named: all.
func command(ctx context.Context, words []string, stdout, _ io.Writer) error {
	all, err := parse(list)
	if err != nil {
		return err
	}
	chosen := slices.DeleteFunc(all, func(b lineBreak) bool {
		return len(words) > 0 && !slices.ContainsFunc(words, b.is)
	})
	if len(chosen) == 0 {
		return errors.New("no break of test/breaks/list.txt has such a number or word")
	}
	dir, err := os.MkdirTemp("", "footfall-breaks")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // it is in the system's temporary directory
	if err := process.CopySources(ctx, ".", dir); err != nil {
		return fmt.Errorf("copying the tree: %w", err)
	}
	r := runner{dir: dir, controls: map[lineBreak]error{}}
	servers := slices.ContainsFunc(chosen, func(b lineBreak) bool { return b.servers }) &&
		stack.AskKafka(ctx, "127.0.0.1:9092") == nil && stack.AskCassandra(ctx, "127.0.0.1", 9042) == nil
	begun, found, left := time.Now(), 0, 0
	for _, b := range chosen {
		if b.servers && !servers {
			left++
			continue
		}
		since := time.Now()
		by, err := r.play(ctx, b)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		result := "found by " + strings.Join(by, ", ")
		if err != nil {
			result = "NOT FOUND: " + err.Error()
		} else {
			found++
		}
		fmt.Fprintf(stdout, "%3d %-36s %5.1f s  %s\n", b.number, b.name, time.Since(since).Seconds(), result)
	}
	fmt.Fprintf(stdout, "%d breaks: %d found, %d not found; %v\n", len(chosen), found, len(chosen)-found-left, time.Since(begun).Round(time.Second))
	if left > 0 {
		fmt.Fprintf(stdout, "NOT CHECKED: %d breaks, which need the servers of make up on their usual ports\n", left)
	}
	if found+left < len(chosen) {
		return errors.New("some breaks are not found")
	}
	return nil
}

// is tells whether a word names the break.
func (b lineBreak) is(word string) bool {
	if _, err := strconv.Atoi(word); err == nil {
		return word == strconv.Itoa(b.number)
	}
	return strings.Contains(strings.ToLower(b.name+" "+b.what+" "+b.file), strings.ToLower(word))
}

// runner runs tests in the copy.
type runner struct {
	dir      string
	controls map[lineBreak]error // by package and tests: how they end without a break
}

// play breaks a line, and returns which tests have failed. It is an error if none has, or if they fail without the break, too.
func (r runner) play(ctx context.Context, b lineBreak) (by []string, err error) {
	whole, broken, err := b.apply(r.dir)
	if err != nil {
		return nil, err
	}
	tests := lineBreak{pkg: b.pkg, run: b.run, servers: b.servers}
	if _, known := r.controls[tests]; !known {
		out, err := r.test(ctx, b)
		if err != nil || strings.Contains(out, "no tests to run") {
			err = fmt.Errorf("the control failed: without the break the tests must run and pass: %w\n%s", cmp.Or(err, errors.New("there are none")), out)
		}
		r.controls[tests] = err
	}
	if err := r.controls[tests]; err != nil {
		return nil, err
	}
	file := filepath.Join(r.dir, b.file)
	if err := os.WriteFile(file, []byte(broken), 0o644); err != nil {
		return nil, err
	}
	out, err := r.test(ctx, b)
	if undone := os.WriteFile(file, []byte(whole), 0o644); undone != nil {
		return nil, undone
	}
	for _, failed := range failure.FindAllStringSubmatch(out, -1) {
		by = append(by, failed[1])
	}
	switch {
	case err == nil:
		return nil, errors.New("the tests pass")
	case len(by) == 0:
		return nil, fmt.Errorf("no test says why it failed: %w\n%s", err, out[:min(len(out), 4000)])
	}
	return by, nil
}

// failure is the line of a test that failed, without those of subtests.
var failure = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)

// test runs the tests meant for a break: those without servers as make unit does.
func (r runner) test(ctx context.Context, b lineBreak) (out string, err error) {
	args := []string{"test", "-count=1", "-vet=off", "-timeout=3m", "-run=" + b.run, "-short=" + strconv.FormatBool(!b.servers), "./" + b.pkg}
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir = r.dir
	text, err := c.CombinedOutput()
	return string(text), err
}
