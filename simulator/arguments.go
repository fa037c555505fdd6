package main

import (
	"fmt"
	"regexp"
	"strings"
)

// kind is how many values an option takes.
type kind int

const (
	none kind = iota
	one
	several // all arguments up to the next option, and again if it is repeated
)

// option is one option of the command line. They are parsed here because package flag and pflag take one value at the most.
type option struct {
	long, short string
	kind        kind
}

var known = []option{
	{"help", "h", none}, {"version", "V", none},
	{"site_id", "s", one}, {"num_guids", "g", one}, {"num_samples", "n", one}, {"from", "f", one}, {"to", "t", one},
	{"referers", "r", several}, {"landing_pages", "p", several},
	{"features", "", several}, {"zipf", "", one}, {"seed", "", one}, {"out", "", one},
	{"clicks", "", one}, {"links", "", several}, {"countries", "", several},
	{"send", "", one}, {"key", "", one}, {"rate", "", one},
	{"verify", "", none}, {"store", "", one}, {"metrics", "", several}, {"wait", "", one},
}

// number matches a negative number, which is a value and not an option.
var number = regexp.MustCompile(`^-[0-9.]+$`)

func isOption(arg string) bool { return len(arg) > 1 && arg[0] == '-' && !number.MatchString(arg) }

// arguments splits a command line into values by the long names of options.
func arguments(args []string) (map[string][]string, error) {
	given := map[string][]string{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !isOption(arg) {
			return nil, fmt.Errorf("argument %q belongs to no option", arg)
		}
		o, value, attached, err := find(arg)
		if err != nil {
			return nil, err
		}
		if _, twice := given[o.long]; twice && o.kind == one {
			return nil, fmt.Errorf("--%s is given twice", o.long)
		}
		values := given[o.long]
		switch {
		case attached && o.kind == none && arg[1] != '-': // -hV is -h -V
			args = append([]string{"-" + value}, args...)
		case attached && o.kind == none:
			return nil, fmt.Errorf("--%s takes no value", o.long)
		case attached:
			values = append(values, value)
		}
		for o.kind != none && len(args) > 0 && !isOption(args[0]) && (o.kind == several || !attached && len(values) == 0) {
			values, args = append(values, args[0]), args[1:]
		}
		if o.kind != none && len(values) == 0 {
			return nil, fmt.Errorf("--%s wants a value", o.long)
		}
		given[o.long] = values
	}
	return given, nil
}

// find reads one option: --name, --name=value, -n, -n=value, -nvalue.
func find(arg string) (o option, value string, attached bool, err error) {
	if text, long := strings.CutPrefix(arg, "--"); long {
		name, value, attached := strings.Cut(text, "=")
		for _, o := range known {
			if o.long == name {
				return o, value, attached, nil
			}
		}
		return o, "", false, fmt.Errorf("unknown option --%s", name)
	}
	for _, o := range known {
		if rest, ok := strings.CutPrefix(arg[1:], o.short); ok && o.short != "" {
			value, _ := strings.CutPrefix(rest, "=")
			return o, value, rest != "", nil
		}
	}
	return o, "", false, fmt.Errorf("unknown option %s", arg)
}
