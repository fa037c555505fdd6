package monitoring_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// section is the part of a document from a heading of level two to the next.
func section(t *testing.T, document, title string) string {
	t.Helper()
	_, after, found := strings.Cut(document, "\n## "+title+"\n")
	if !found {
		t.Fatalf("no section %s", title)
	}
	text, _, _ := strings.Cut(after, "\n## ")
	return text
}

func runbook(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every alert has a section of the runbook, and every section an alert. Each says what it means, what to look at, what to do, and what not.
func TestRunbookHasTheAlerts(t *testing.T) {
	var names, described []string
	for _, rule := range alerts(t) {
		names = append(names, rule.Alert)
	}
	for _, part := range strings.Split(section(t, runbook(t), "Alerts"), "\n### ")[1:] {
		name, text, _ := strings.Cut(part, "\n")
		described = append(described, name)
		at := 0
		for _, label := range []string{"- **Means**: ", "- **Look**: ", "- **Do**: ", "- **Do not**"} {
			i := strings.Index(text[at:], label)
			if i < 0 {
				t.Errorf("%s has no %q, or not in this order", name, label)
				continue
			}
			at += i
		}
	}
	slices.Sort(names)
	slices.Sort(described)
	if names = slices.Compact(names); !slices.Equal(names, described) {
		t.Errorf("alerts %q\nin the runbook %q", names, described)
	}
}

var (
	bullet  = regexp.MustCompile("(?m)^- \\*\\*`")
	words   = regexp.MustCompile("\\*\\*`([^`]+)`\\*\\*")
	newline = regexp.MustCompile(`\n *`)
	joined  = regexp.MustCompile("[\"`]\\s*\\+\\s*[\"`]")
	verbs   = regexp.MustCompile(`%[a-z]`)
)

// Every refusal says what to do and what not, and its words are those of a message in the code.
func TestRunbookHasTheRefusals(t *testing.T) {
	text := section(t, runbook(t), "What a consumer refuses")
	code := messages(t)
	found := 0
	for _, start := range bullet.FindAllStringIndex(text, -1) {
		one, _, _ := strings.Cut(text[start[0]+2:], "\n- **`")
		one = newline.ReplaceAllString(one, " ")
		said := words.FindAllStringSubmatch(one, -1)
		if !strings.Contains(one, "**Do**: ") || !strings.Contains(one, "**Do not** ") {
			t.Errorf("%s does not say what to do and what not", said[0][1])
		}
		for _, w := range said {
			found++
			for piece := range strings.SplitSeq(placeholder.ReplaceAllString(w[1], "…"), "…") {
				if !strings.Contains(code, strings.TrimSpace(piece)) {
					t.Errorf("no message has the words %q of %q", piece, w[1])
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("found %d refusals only", found)
	}
}

// placeholder is what the code has as an argument: a number, or a key of the configuration.
var placeholder = regexp.MustCompile(`\b[NM]\b|\b[a-z]+\.[a-z_]+`)

// messages is the text of the consumer's sources, and of what it calls, with strings that are written in parts put together, and without
// verbs and quotes.
func messages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range []string{"consumer", "migrations", "internal", "configs"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			all.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(verbs.ReplaceAllString(joined.ReplaceAllString(all.String(), ""), ""), "`", "")
}
