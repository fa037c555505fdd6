package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// Each break still applies, to a line of the product, and the tests meant for it are there. make breaks shows that they fail.
func TestBreaksApply(t *testing.T) {
	breaks, err := parse(list)
	if err != nil || len(breaks) < 60 {
		t.Fatalf("%d breaks, %v", len(breaks), err)
	}
	names, tests := map[string]bool{}, map[string][]string{}
	for _, b := range breaks {
		if names[b.name] {
			t.Errorf("two breaks are called %s", b.name)
		}
		names[b.name] = true
		if _, _, err := b.apply(root); err != nil || strings.HasSuffix(b.file, "_test.go") {
			t.Errorf("break %d: %v in %s", b.number, err, b.file)
		}
		if tests[b.pkg] == nil {
			tests[b.pkg] = testsOf(t, b.pkg)
		}
		for _, name := range b.tests() {
			if !slices.Contains(tests[b.pkg], name) {
				t.Errorf("%s is meant for %s, but is not in %s", name, b.name, b.pkg)
			}
		}
	}
}

var function = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// testsOf are the names of a package's tests.
func testsOf(t *testing.T, pkg string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range function.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names
}

func TestAListThatIsWrong(t *testing.T) {
	for _, text := range []string{
		"a: b\nin c.go\nby pkg TestA\n- x\n+ x",       // nothing changes
		"a: b\nin c.go\n- x\n+ y",                     // no test
		"a: b\nin c.go\nby pkg TestA often\n- x\n+ y", // no such mark
		"a: b\nby pkg TestA\n- x\n+ y",                // no file
		"in c.go\nby pkg TestA\n- x\n+ y",             // no name
		"a: b\nc: d\nin c.go\nby pkg TestA\n- x\n+ y", // two in one
		"a: b\nin c.go\nby pkg TestA\n- x\nsomething", // what is that?
	} {
		if breaks, err := parse(text); err == nil {
			t.Errorf("%q is read as %+v", text, breaks)
		}
	}
	if breaks, err := parse("# Headline\n\na: b\nin c.go\nby pkg ^TestA$/b|TestC servers\n- x\n- \n- y\n"); err != nil || len(breaks) != 1 ||
		breaks[0].old != "x\n\ny" || breaks[0].new != "" || !breaks[0].servers || !slices.Equal(breaks[0].tests(), []string{"TestA", "TestC"}) {
		t.Errorf("%+v, %v", breaks, err)
	}
}
