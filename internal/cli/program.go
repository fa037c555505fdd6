package cli

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Program is a table of commands. R is the type of a command's Run, which the program itself calls.
type Program[R any] struct {
	Name     string
	About    string              // what it does: a line or two
	Flags    func(*flag.FlagSet) // defines the flags of all commands; nil: none but --help and --version
	Commands []Command[R]        // the one without a name runs when no command is given
	More     string              // text at the end of the program's help
}

// Command is one command of a Program.
type Command[R any] struct {
	Name     string
	Args     string              // what follows the name, such as "--before YYYY-MM [--wait 30m]"
	Short    string              // a line of the program's help
	Long     string              // the command's own help; default: Short
	Operands int                 // how many arguments it takes besides flags
	Rest     bool                // it also takes all that follows --
	Flags    func(*flag.FlagSet) // defines its own flags; nil: none. Errors of values are printed after the flag's name
	Check    func() error        // called when all flags are set: says what is missing; nil: no check
	Run      R
}

// Parse finds the command and sets its flags, which may come before or after its name. It answers --help and --version on stdout: then told is
// true, and there is nothing to run. Its errors list what is allowed, and are marked with Usage.
func (p *Program[R]) Parse(args []string, stdout io.Writer) (c Command[R], operands []string, told bool, err error) {
	line, err := p.read(args)
	switch {
	case err != nil:
	case line.version:
		_, err = fmt.Fprintln(stdout, Version(p.Name))
		return line.command, nil, true, err
	case line.help:
		_, err = io.WriteString(stdout, p.help(line.command))
		return line.command, nil, true, err
	default:
		err = p.set(line)
	}
	if c = line.command; err == nil && c.Check != nil {
		err = c.Check()
	}
	if err != nil {
		err = fmt.Errorf("%w; %w", err, Usage(p.Name))
	}
	return c, line.operands, false, err
}

// typed is a parsed command line.
type typed[R any] struct {
	command       Command[R]
	flags         []setting
	operands      []string
	help, version bool
}

type setting struct {
	name, value string
	given       bool // there is a value: after an equals sign, or as the next argument
}

// read splits the arguments into flags with values, the command, and operands.
func (p *Program[R]) read(args []string) (line typed[R], err error) {
	line.command, _ = p.find("")
	known, named, flagsEnded := p.allFlags(), false, false
	for ; len(args) > 0; args = args[1:] {
		s, isFlag := asFlag(args[0])
		isFlag = isFlag && !flagsEnded
		f := known.Lookup(s.name)
		switch {
		case args[0] == "--" && !flagsEnded && line.command.Rest:
			line.operands = append(line.operands, args[1:]...)
			return line, nil
		case args[0] == "--" && !flagsEnded:
			flagsEnded = true
		case isFlag && (s.name == "h" || s.name == "help"):
			line.help = true
		case isFlag && s.name == "version":
			line.version = true
		case isFlag && f != nil:
			if !s.given && !isBool(f) && len(args) > 1 {
				args, s.value, s.given = args[1:], args[1], true
			}
			line.flags = append(line.flags, s)
		case len(line.operands) < line.command.Operands: // even if it looks like a flag
			line.operands = append(line.operands, args[0])
		case isFlag:
			return line, fmt.Errorf("flag --%s is not defined; there are %s", s.name, list(flagNames(p.flags(line.command))))
		case named:
			return line, p.unknown(args[0])
		default:
			if line.command, named = p.find(args[0]); !named || args[0] == "" {
				return line, p.unknown(args[0])
			}
		}
	}
	if n := line.command.Operands; len(line.operands) < n && !line.help && !line.version {
		return line, fmt.Errorf("%s needs %s", line.command.Name, line.command.Args)
	}
	return line, nil
}

// set gives the command's flags their values.
func (p *Program[R]) set(line typed[R]) error {
	flags := p.flags(line.command)
	for _, s := range line.flags {
		f := flags.Lookup(s.name)
		switch {
		case f == nil:
			return fmt.Errorf("--%s belongs to %s", s.name, list(p.owners(s.name)))
		case isBool(f):
			if !s.given {
				s.value = "true"
			}
			if err := flags.Set(s.name, s.value); err != nil {
				return fmt.Errorf("--%s %q: want true or false", s.name, s.value)
			}
		case !s.given:
			return fmt.Errorf("flag needs an argument: --%s", s.name)
		default:
			if err := flags.Set(s.name, s.value); err != nil {
				return fmt.Errorf("--%s %w", s.name, err)
			}
		}
	}
	return nil
}

// owners lists the commands that have a flag.
func (p *Program[R]) owners(name string) (commands []string) {
	for _, c := range p.Commands {
		if p.flags(c).Lookup(name) != nil {
			commands = append(commands, cmp.Or(c.Name, p.Name+" without a command"))
		}
	}
	slices.Sort(commands)
	return commands
}

func (p *Program[R]) unknown(argument string) error {
	var names []string
	for _, c := range p.Commands {
		if c.Name != "" {
			names = append(names, c.Name)
		}
	}
	return fmt.Errorf("unknown argument %q; the commands are %s", argument, list(names))
}

func (p *Program[R]) find(name string) (Command[R], bool) {
	for _, c := range p.Commands {
		if c.Name == name {
			return c, true
		}
	}
	return Command[R]{}, false
}

// flags makes the flag set of a command.
func (p *Program[R]) flags(c Command[R]) *flag.FlagSet {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	for _, define := range []func(*flag.FlagSet){p.Flags, c.Flags} {
		if define != nil {
			define(flags)
		}
	}
	return flags
}

// allFlags makes a flag set with the flags of all commands.
func (p *Program[R]) allFlags() *flag.FlagSet {
	all := flag.NewFlagSet(p.Name, flag.ContinueOnError)
	for _, c := range p.Commands {
		p.flags(c).VisitAll(func(f *flag.Flag) {
			if all.Lookup(f.Name) == nil {
				all.Var(f.Value, f.Name, f.Usage)
			}
		})
	}
	return all
}

// asFlag parses -name, --name and --name=value.
func asFlag(argument string) (s setting, ok bool) {
	if len(argument) < 2 || argument[0] != '-' {
		return setting{}, false
	}
	s.name, s.value, s.given = strings.Cut(strings.TrimPrefix(argument[1:], "-"), "=")
	return s, true
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

func list(names []string) string {
	if len(names) < 2 {
		return cmp.Or(strings.Join(names, ""), "none")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
