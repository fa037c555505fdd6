package cli

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
)

// help is what --help prints, of the program or of a command.
func (p *Program[R]) help(c Command[R]) string {
	if c.Name != "" {
		return p.commandHelp(c)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [COMMAND] [FLAGS]\n\n%s\n\nCommands:\n", p.Name, p.About)
	var rows [][2]string
	for _, c := range p.Commands {
		rows = append(rows, [2]string{cmp.Or(c.Name, "(none)"), c.Short})
	}
	align(&b, rows)
	b.WriteString("\nFlags:\n")
	align(&b, append(flagRows(p.flags(c)), [2]string{"--help", "this text, or with a command what it does"}, [2]string{"--version", "which build this is"}))
	if p.More != "" {
		b.WriteString("\n" + p.More + "\n")
	}
	return b.String()
}

func (p *Program[R]) commandHelp(c Command[R]) string {
	var b strings.Builder
	for i, args := range strings.Split(c.Args, "\n") {
		fmt.Fprintf(&b, "%s %s\n", [...]string{"Usage:", "      "}[min(i, 1)], strings.TrimSpace(p.Name+" "+c.Name+" "+args))
	}
	b.WriteString("\n" + cmp.Or(strings.TrimSpace(c.Long), c.Short) + "\n")
	if rows := flagRows(p.flags(c)); len(rows) > 0 {
		b.WriteString("\nFlags:\n")
		align(&b, rows)
	}
	return b.String()
}

func flagRows(flags *flag.FlagSet) (rows [][2]string) {
	flags.VisitAll(func(f *flag.Flag) {
		value, text := flag.UnquoteUsage(f)
		if isBool(f) {
			value = ""
		}
		rows = append(rows, [2]string{strings.TrimSpace("--" + f.Name + " " + value), text})
	})
	return rows
}

func flagNames(flags *flag.FlagSet) (names []string) {
	flags.VisitAll(func(f *flag.Flag) { names = append(names, "--"+f.Name) })
	return append(names, "--help", "--version")
}

// align writes rows of two columns. The second column may have several lines.
func align(b *strings.Builder, rows [][2]string) {
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	for _, row := range rows {
		for i, line := range strings.Split(row[1], "\n") {
			name := row[0]
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(b, "  %-*s  %s\n", width, name, line)
		}
	}
}
