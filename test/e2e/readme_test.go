package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"footfall/deployments/stack/stacktest"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// step is a command of README, and what README says it prints, if it does.
type step struct {
	command string
	prints  []string
}

// readmeSteps are the commands of a section of README: lines that begin with $, with what they print, or else every line of a block.
func readmeSteps(t *testing.T, text, heading string) (steps []step) {
	t.Helper()
	_, section, found := strings.Cut(text, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("README has no section %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "\n```\n")
	for i := 1; i < len(blocks); i += 2 {
		block := regexp.MustCompile(`\\\n\s*`).ReplaceAllString(blocks[i], "")
		dialogue := strings.HasPrefix(block, "$ ")
		for line := range strings.Lines(block) {
			line = strings.TrimRight(line, "\n")
			typed, is := strings.CutPrefix(line, "$ ")
			if dialogue && !is {
				last := &steps[len(steps)-1]
				last.prints = append(last.prints, line)
				continue
			}
			command, _, _ := strings.Cut(typed, "  # ")
			steps = append(steps, step{command: strings.TrimSpace(command)})
		}
	}
	return steps
}

// likeInReadme matches a line that differs from README's in ids and times alone.
func likeInReadme(line string) *regexp.Regexp {
	quoted := regexp.QuoteMeta(line)
	for _, one := range []struct{ is, like string }{
		{`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`, `[0-9a-f-]{36}`},
		{`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+(\\\.[0-9]+)?Z`, `[0-9T:.-]+Z`},
		{`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+`, `[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+`},
	} {
		quoted = regexp.MustCompile(one.is).ReplaceAllLiteralString(quoted, one.like)
	}
	return regexp.MustCompile(`(?m)^` + quoted + `\s*$`)
}

// terminals are where README's commands run.
type terminals struct {
	t    *testing.T
	dir  string
	open []*terminal
}

type terminal struct {
	cmd     *exec.Cmd
	printed harness.Buffer
	ended   chan error
}

func (w *terminals) shell(ctx context.Context, command string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-c", command)
	cmd.Dir, cmd.Env = w.dir, process.Environ()
	return cmd
}

// leave starts a command that goes on, and waits until it prints something.
func (w *terminals) leave(s step, says *regexp.Regexp) {
	w.t.Helper()
	one := &terminal{cmd: w.shell(w.t.Context(), s.command), ended: make(chan error, 1)}
	one.cmd.Stdout, one.cmd.Stderr, one.cmd.SysProcAttr = &one.printed, &one.printed, &syscall.SysProcAttr{Setpgid: true}
	if err := one.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { one.ended <- one.cmd.Wait() }()
	w.open = append(w.open, one)
	harness.Within(w.t, 5*time.Minute, s.command, func() error {
		select {
		case err := <-one.ended:
			one.ended <- err
			w.t.Fatalf("%s ended: %v\n%s", s.command, err, one.printed.String())
		default:
		}
		if says.MatchString(one.printed.String()) {
			return nil
		}
		return fmt.Errorf("it prints %s", one.printed.String())
	})
	w.like(s, one.printed.String())
}

// interrupt presses Ctrl-C everywhere.
func (w *terminals) interrupt() {
	for _, one := range w.open {
		_ = syscall.Kill(-one.cmd.Process.Pid, syscall.SIGINT) // or it has ended: then ended says so
		select {
		case err := <-one.ended:
			if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
				w.t.Error(err)
			}
		case <-time.After(time.Minute):
			_ = syscall.Kill(-one.cmd.Process.Pid, syscall.SIGKILL)
			w.t.Errorf("%s does not end\n%s", one.cmd, one.printed.String())
		}
	}
	w.open = nil
}

// run runs a command to its end. What asks for counts may be asked again: they are there a second later.
func (w *terminals) run(s step) {
	w.t.Helper()
	asks := strings.Contains(s.command, "/v1/stats/") || strings.Contains(s.command, " query ")
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		cmd := w.shell(w.t.Context(), strings.Replace(s.command, "curl ", "curl -sS ", 1))
		printed, err := cmd.CombinedOutput()
		if err == nil && w.misses(s, string(printed)) == "" {
			return
		}
		if !asks || time.Now().After(deadline) {
			w.t.Fatalf("%s: %v; README has %q, it prints\n%s", s.command, err, w.misses(s, string(printed)), printed)
		}
	}
}

// misses is the first line of README's that a command did not print.
func (w *terminals) misses(s step, printed string) string {
	for _, line := range s.prints {
		if line != "" && line != "…" && !likeInReadme(line).MatchString(printed) {
			return line
		}
	}
	return ""
}

func (w *terminals) like(s step, printed string) {
	w.t.Helper()
	if line := w.misses(s, printed); line != "" {
		w.t.Errorf("%s does not print README's line\n%s\nbut\n%s", s.command, line, printed)
	}
}

// The commands of README, in its order, print what README says, in a checkout that nobody has built in.
func TestReadmeLineByLine(t *testing.T) {
	t.Parallel()
	stacktest.Require(t) // make up leaves servers alone that are up
	w := &terminals{t: t, dir: t.TempDir()}
	if err := process.CopySources(t.Context(), filepath.Join("..", ".."), w.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.interrupt)
	readme, err := os.ReadFile(filepath.Join(w.dir, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	ready := map[string]*regexp.Regexp{
		"make run": regexp.MustCompile(`Look at it in a browser`), "bin/producer": regexp.MustCompile(`"listening"`),
		"bin/consumer": regexp.MustCompile(`"consumer started"`), "bin/reader": regexp.MustCompile(`"listening"`),
	}
	ran := 0
	for _, heading := range []string{"Run it", "The real stack"} {
		for _, s := range readmeSteps(t, string(readme), heading) {
			ran++
			fields := strings.Fields(s.command)
			name := fields[len(fields)-1]
			if s.command == "make run" {
				name = s.command
			}
			switch says := ready[name]; {
			case says != nil:
				w.leave(s, says)
			case s.command == "make down":
				w.counts(t)
				w.interrupt()
				w.run(s)
			default:
				w.run(s)
			}
		}
		w.interrupt() // as README says before the real stack
	}
	if ran < 10 {
		t.Errorf("README has %d commands only: are they still found?", ran)
	}
}

// counts sends a click to what README has started on the real stack, and sees it counted.
func (w *terminals) counts(t *testing.T) {
	t.Helper()
	link := unique()
	w.run(step{command: `curl -f localhost:8080/v1/clicks -H 'Content-Type: application/json' -d '{"short_url":"` + link + `","ip":"203.0.113.7"}'`})
	w.run(step{command: `curl -f localhost:8082/v1/stats/links/` + link + ` | grep '"clicks":1,"unique":1'`})
}
