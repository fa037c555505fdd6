package cli

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"runtime/debug"
	"strings"
	"testing"

	"footfall/configs"
)

// aProgram has a command without a name, one with flags of its own, one that shares a flag, and one with an operand.
func aProgram(file, month *string, force *bool) *Program[string] {
	before := func(flags *flag.FlagSet) { flags.StringVar(month, "before", "", "which `MONTH`") }
	return &Program[string]{
		Name: "tool", About: "Does things.", More: "That is all.",
		Flags: func(flags *flag.FlagSet) { flags.StringVar(file, "config", "", "read `FILE`") },
		Commands: []Command[string]{
			{Short: "run on", Run: "run"},
			{Name: "retire", Args: "--before MONTH [--force]", Short: "remove old rows", Long: "Removes old rows for good.\n", Run: "retire",
				Flags: func(flags *flag.FlagSet) {
					before(flags)
					flags.BoolVar(force, "force", false, "whatever is found")
				},
				Check: func() error {
					if *month == "" {
						return errors.New("retire needs --before")
					}
					return nil
				}},
			{Name: "grow", Flags: before, Short: "another number", Run: "grow"},
			{Name: "while", Args: "[-- COMMAND ARGS...]", Rest: true, Short: "run it", Run: "while"},
			{Name: "query", Args: `"SQL", in quotes`, Operands: 1, Short: "ask", Run: "query"},
		},
	}
}

func TestParse(t *testing.T) {
	f := func(want, args string) {
		t.Helper()
		var file, month string
		var force bool
		var out bytes.Buffer
		c, operands, told, err := aProgram(&file, &month, &force).Parse(strings.FieldsFunc(args, func(r rune) bool { return r == '|' }), &out)
		got := fmt.Sprint(c.Run, " ", file, " ", month, " ", force, " ", operands)
		if told {
			got = out.String()
		}
		if err != nil {
			got = err.Error()
			if exitCode(err) != 2 || out.Len() > 0 || strings.Contains(got, "\n") {
				t.Errorf("%s: exit code %d and %q for %q", args, exitCode(err), out.String(), got)
			}
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	f("run   false []", "")
	f("run x.yaml  false []", "--config|x.yaml")
	f("run x.yaml  false []", "-config=x.yaml")
	f("retire x.yaml 2026-01 true []", "retire|--before|2026-01|--force|--config|x.yaml")
	f("retire x.yaml 2026-01 true []", "--force|--config=x.yaml|--before|2026-01|retire")
	f("retire  2026-01 false []", "retire|--before|2026-01|--force=false")
	f("query   false [-- nothing]", "query|-- nothing")
	f("query x.yaml  false [SELECT 1]", "query|--config|x.yaml|SELECT 1")
	f("retire needs --before; see tool --help", "retire")
	f("--force belongs to retire; see tool --help", "grow|--force")
	f("--before belongs to grow and retire", "--before|2026-01")
	f(`--force "maybe": want true or false`, "retire|--force=maybe")
	f(`--force "": want true or false`, "retire|--before|2026-01|--force=") // as of --force=$FORCE, which nobody set
	f("run x.yaml  false []", "--config|x.yaml|--")
	f("retire  2026-01 true []", "--force|--before=2026-01|--|retire")
	f("query   false [--version]", "query|--|--version")
	f("while x.yaml  false [ls --config y]", "while|--config|x.yaml|--|ls|--config|y")
	f("while   false [query -- x]", "while|--|query|--|x")
	f("while   false []", "while")
	f(`unknown argument "x"`, "while|x|--|ls")
	f(`unknown argument "--help"`, "retire|--|--help")
	f("flag needs an argument: --before", "retire|--before")
	f("flag --colour is not defined; there are --before, --config, --force, --help and --version", "retire|--colour=red")
	f(`unknown argument "sideways"; the commands are retire, grow, while and query`, "sideways")
	f(`unknown argument "retire"`, "retire|retire")
	f(`unknown argument "x"`, "query|SELECT 1|x")
	f(`query needs "SQL", in quotes`, "query")
	f("Usage: tool [COMMAND]", "--help")
	f("  retire  remove old rows\n", "-h")
	f("That is all.", "-help")
	f("Usage: tool retire --before MONTH [--force]\n\nRemoves old rows for good.\n\nFlags:\n  --before MONTH  which MONTH\n", "retire|--help")
	f("Usage: tool retire", "--help|retire|--force")
	f("Usage: tool query", "query|--help")
	f("footfall tool ", "grow|--version")
}

func TestExitCodes(t *testing.T) {
	for err, want := range map[error]int{
		nil: 0, errors.New("failed"): 1, ErrLogged: 1,
		fmt.Errorf("unknown; %w", Usage("tool")): 2, fmt.Errorf("x: %w", configs.MarkWrong(errors.New("wrong"))): 2,
	} {
		if got := exitCode(err); got != want {
			t.Errorf("exit code of %v: %d, want %d", err, got, want)
		}
	}
}

func TestDescribe(t *testing.T) {
	info := &debug.BuildInfo{GoVersion: "go1.2.3", Main: debug.Module{Version: "v1.2.0"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	if got := describe("tool", info); !strings.HasPrefix(got, "footfall tool v1.2.0 (revision abc, modified, go1.2.3, ") {
		t.Error(got)
	}
	if got := describe("tool", &debug.BuildInfo{}); !strings.HasPrefix(got, "footfall tool (devel) (go1.") {
		t.Error(got)
	}
}
