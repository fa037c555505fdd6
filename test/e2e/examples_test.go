package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"footfall/test/e2e/process"
	"footfall/test/harness"
)

var examples = filepath.Join("..", "..", "docs", "examples")

// TestExamples runs the examples of the documentation unchanged and checks that what they send is counted.
func TestExamples(t *testing.T) {
	d := newEmbedded(t)
	for _, line := range [][]string{
		{"sh", filepath.Join(examples, "curl.sh")},
		{"python3", filepath.Join(examples, "send.py")},
		{"go", "run", filepath.Join(examples, "go", "main.go")},
	} {
		if _, err := exec.LookPath(line[0]); err != nil && os.Getenv("CI") != "true" {
			t.Logf("without %s: %v", line[0], err)
			continue
		}
		cmd := exec.CommandContext(t.Context(), line[0], line[1:]...)
		cmd.Env = append(os.Environ(), "PRODUCER="+d.url)
		if printed, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(line, " "), err, printed)
		}
	}
	harness.Within(t, time.Minute, "counting the examples", func() error {
		curl, python := d.visits(t, "example-curl")["month_views  "], d.visits(t, "example-python")["month_views  "]
		clicks := d.clicks(t, "example-curl") + d.clicks(t, "example-go")
		if curl != 4 || python != 2 || clicks != 2 {
			return fmt.Errorf("counted %d and %d visits, %d clicks", curl, python, clicks)
		}
		return nil
	})
}

// TestTheKeyOfTheDocumentation runs the commands about write keys in docs/api.md, with another port.
func TestTheKeyOfTheDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "api.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("```\n(FOOTFALL_ACCESS[^\n]*) make run\n(curl [^\n]*Bearer MY-KEY[^\n]*)\n```").FindStringSubmatch(string(text))
	if block == nil {
		t.Fatal("docs/api.md has no block of two lines, one that starts footfall with a key and one that sends with it")
	}
	p := start(t, process.Command{
		Name: "api", Path: "/bin/sh", Args: []string{"-c", block[1] + " exec " + binaries.Path(t, "embedded")}, Dir: t.TempDir(),
		Env: []string{"FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_READER_ADDR=127.0.0.1:0", "FOOTFALL_DATA_DIR=" + t.TempDir()},
	})
	url, err := p.Expect(patiently(t), greeting)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{"", "", `{"id":`}, {"Bearer MY-KEY", "Bearer my-key", `"wrong_key"`}, {"-H 'Authorization: Bearer MY-KEY'", "", `"missing_key"`},
	} {
		line := strings.Replace(strings.Replace(block[2], "localhost:8080", url, 1), c.old, c.new, 1)
		printed, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", line).Output()
		if err != nil || !strings.Contains(string(printed), c.want) {
			t.Errorf("%s\nprints %s, %v; want %s", line, printed, err, c.want)
		}
	}
}

// TestThePageOfTheExamples opens the example page, with the address of this process in it, in a browser.
func TestThePageOfTheExamples(t *testing.T) {
	browser := openBrowser(t)
	d := newEmbedded(t)
	text, err := os.ReadFile(filepath.Join(examples, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	site := serveText(t, strings.ReplaceAll(string(text), "http://127.0.0.1:8080", d.url))
	browser.tab(t).run(t, chromedp.Navigate(site+"/page.html"))
	harness.Within(t, time.Minute, "counting the view", func() error {
		if n := d.visits(t, "example-page")["month_views  /page.html"]; n != 1 {
			return fmt.Errorf("%d views", n)
		}
		return nil
	})
}
