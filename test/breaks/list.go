package main

import (
	_ "embed" // list.txt
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

//go:embed list.txt
var list string

// lineBreak is one line of the product that is broken on purpose, and the tests meant for it.
type lineBreak struct {
	number   int
	name     string
	what     string // is broken, in a sentence
	file     string
	old, new string // of the file's text
	pkg, run string // of the tests meant for it; run is the regexp of go test
	servers  bool   // only tests on real servers can tell
}

// parse reads a list. Its first lines say how it is written.
func parse(text string) (breaks []lineBreak, err error) {
	for block := range strings.SplitSeq(text, "\n\n") {
		b := lineBreak{number: len(breaks) + 1}
		var old, broken []string
		for line := range strings.Lines(strings.Trim(block, "\n")) {
			sign, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			switch fields := strings.Fields(rest); {
			case sign == "#" || sign == "":
			case sign == "-":
				old = append(old, rest)
			case sign == "+":
				broken = append(broken, rest)
			case sign == "in" && len(fields) == 1:
				b.file = rest
			case sign == "by" && (len(fields) == 2 || len(fields) == 3 && fields[2] == "servers"):
				b.pkg, b.run, b.servers = fields[0], fields[1], len(fields) == 3
			case strings.HasSuffix(sign, ":") && b.name == "":
				b.name, b.what = strings.TrimSuffix(sign, ":"), rest
			default:
				return nil, fmt.Errorf("break %d (%s) has the line %q", b.number, b.name, line)
			}
		}
		if b.name == "" && old == nil {
			continue // a headline
		}
		if b.old, b.new = strings.Join(old, "\n"), strings.Join(broken, "\n"); b.name == "" || b.what == "" || b.file == "" || b.run == "" || b.old == "" || b.old == b.new {
			return nil, fmt.Errorf("break %d (%s) lacks a name, a sentence, a file, tests, or what changes", b.number, b.name)
		}
		breaks = append(breaks, b)
	}
	return breaks, nil
}

// apply returns the file's text without and with the break. It is an error if the old text is not there exactly once.
func (b lineBreak) apply(root string) (whole, broken string, err error) {
	text, err := os.ReadFile(filepath.Join(root, b.file))
	if err != nil {
		return "", "", fmt.Errorf("%s no longer applies: %w", b.name, err)
	}
	if n := strings.Count(string(text), b.old); n != 1 {
		return "", "", fmt.Errorf("%s no longer applies: its text is %d times in %s, want once", b.name, n, b.file)
	}
	return string(text), strings.Replace(string(text), b.old, b.new, 1), nil
}

// tests are the names of the functions that run names, without subtests.
func (b lineBreak) tests() (names []string) {
	for part := range strings.SplitSeq(b.run, "|") {
		name, _, _ := strings.Cut(part, "/")
		names = append(names, strings.Trim(name, "^$()"))
	}
	return names
}
