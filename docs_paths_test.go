package footfall_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	backticked   = regexp.MustCompile("`([^`\n]+)`")
	goPackage    = regexp.MustCompile(`(?:^|\s)\./([a-z0-9/]+)`)
	heading      = regexp.MustCompile(`(?m)^#+ (.+)$`)
	section      = regexp.MustCompile(`(docs/[a-z/-]+\.md), ([A-Z][A-Za-z' -]*[a-z])`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// made are folders that are not in the repository: those that git, builds and programs create.
var made = []string{".git", ".stack", ".tools", "bin", "data", "dist"}

// Files, folders, headings and packages that documents name exist.
func TestPathsInDocumentsExist(t *testing.T) {
	tree := readTree(t)
	checked := 0
	for file := range tree.files {
		if path.Ext(file) != ".md" || file == "CHANGELOG.md" { // which also names files of the past
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			checked++
			if why := tree.broken(t, file, link[1]); why != "" {
				t.Errorf("%s links to %s: %s", file, link[1], why)
			}
		}
		for _, code := range backticked.FindAllStringSubmatch(string(text), -1) {
			checked++
			if !tree.names(code[1]) {
				t.Errorf("%s names `%s`, which does not exist", file, code[1])
			}
		}
		for _, command := range goPackage.FindAllStringSubmatch(string(text), -1) {
			checked++
			if p := strings.TrimSuffix(command[1], "/"); !slices.Contains(made, p) && !tree.folders[p] {
				t.Errorf("%s names ./%s, which does not exist", file, p)
			}
		}
	}
	if checked < 200 {
		t.Errorf("found %d names only", checked)
	}
}

// Sections to which messages, configurations and the chart point, as in "docs/runbook.md, When lag grows", exist.
func TestSectionsInMessagesExist(t *testing.T) {
	checked := 0
	for file := range readTree(t).files {
		if ext := path.Ext(file); ext != ".go" && ext != ".yaml" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(filepath.FromSlash(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, named := range section.FindAllStringSubmatch(string(text), -1) {
			checked++
			page, err := os.ReadFile(filepath.FromSlash(named[1]))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(heading.FindAllStringSubmatch(string(page), -1), func(h []string) bool { return h[1] == named[2] }) {
				t.Errorf("%s points to %q of %s, which has no such section", file, named[2], named[1])
			}
		}
	}
	if checked < 8 {
		t.Errorf("found %d sections only", checked)
	}
}

// tree has the files and folders of the repository by path, and the base names of all files.
type tree struct{ files, folders, bases map[string]bool }

func readTree(t *testing.T) tree {
	t.Helper()
	is := tree{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		switch {
		case d.IsDir() && slices.Contains(made, name):
			return fs.SkipDir
		case d.IsDir():
			is.folders[name] = true
		default:
			is.files[name], is.bases[path.Base(name)] = true, true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return is
}

// broken says what is wrong with a link in a file; empty if it is right, or leads to another site.
func (is tree) broken(t *testing.T, file, link string) string {
	t.Helper()
	if strings.Contains(link, "://") {
		return ""
	}
	to, anchor, _ := strings.Cut(link, "#")
	target := file
	if to != "" {
		target = path.Join(path.Dir(file), to)
	}
	if !is.files[target] && !is.folders[target] {
		return "no such file"
	}
	if anchor == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.FromSlash(target))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range heading.FindAllStringSubmatch(string(text), -1) {
		slug := strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(h[1])), ""), " ", "-")
		if slug == anchor {
			return ""
		}
	}
	return "no such heading"
}

// names tells whether text in backticks exists, if it looks like a path of ours. A Go file without a folder may be anywhere.
func (is tree) names(code string) bool {
	code = strings.TrimSuffix(strings.TrimPrefix(code, "./"), "/")
	if strings.ContainsAny(code, " ${}<>…=:") {
		return true
	}
	first, _, deep := strings.Cut(code, "/")
	switch {
	case deep && is.folders[first]:
	case strings.HasSuffix(code, ".go") && !deep:
		return is.bases[code] || strings.Contains(code, "*")
	default:
		return true
	}
	matches, err := filepath.Glob(filepath.FromSlash(code))
	return err == nil && len(matches) > 0
}
