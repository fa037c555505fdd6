package footfall_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// docs/model.md has the queries and the size of every table that analysts see.
func TestEveryTableIsInTheModel(t *testing.T) {
	model, err := os.ReadFile(filepath.Join("docs", "model.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("migrations", "*.cql"))
	if err != nil {
		t.Fatal(err)
	}
	created := regexp.MustCompile(`CREATE TABLE IF NOT EXISTS \$\{(?:urlshortener|cardinality)\}\.(\w+)`)
	dropped := regexp.MustCompile(`DROP TABLE IF EXISTS \$\{(?:urlshortener|cardinality)\}\.(\w+)`)
	tables, gone := 0, map[string]bool{}
	for _, file := range slices.Backward(files) { // the newest first
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range dropped.FindAllStringSubmatch(string(text), -1) {
			gone[found[1]] = true
		}
		for _, found := range created.FindAllStringSubmatch(string(text), -1) {
			tables++
			// in the diagram of the tables, and in the table of sizes
			if !gone[found[1]] && (strings.Count(string(model), found[1]) < 2 || !strings.Contains(string(model), "`"+found[1]+"`")) {
				t.Errorf("docs/model.md does not describe table %s", found[1])
			}
		}
	}
	if tables < 12 {
		t.Errorf("found %d tables only", tables)
	}
}

// The changelog has a section per version, the newest first. Each version says what an operator has to do.
func TestChangelogIsByVersion(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(text), "\n## ")[1:]
	number := regexp.MustCompile(`^0\.(\d+)\.\d+: `)
	last := 1 << 30
	for i, section := range sections {
		title, body, _ := strings.Cut(section, "\n")
		if (title == "Unreleased") != (i == 0) {
			t.Errorf("section %d is %q: Unreleased comes first, and once", i+1, title)
		}
		if i < len(sections)-1 && !strings.Contains(body, "**To do**") {
			t.Errorf("%s does not say what an operator has to do", title)
		}
		if i == 0 {
			continue
		}
		found := number.FindStringSubmatch(title)
		if found == nil {
			t.Errorf("%q is no version with a title", title)
			continue
		}
		minor, err := strconv.Atoi(found[1])
		if err != nil || minor >= last {
			t.Errorf("%s is not older than the one before it (%v)", title, err)
		}
		last = minor
	}
	if body := sections[0]; strings.Count(body, "**Added**") > 1 || strings.Contains(body, "\n###") {
		t.Error("section Unreleased has a heading twice, or a heading of another form")
	}
}
