package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var examples = filepath.Join("..", "..", "docs", "examples")

// TestExamples runs the examples of the documentation as they are, and looks for what they sent.
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
		cmd.Env = append(os.Environ(), "DOOR="+d.url)
		if printed, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", strings.Join(line, " "), err, printed)
		}
	}
	within(t, time.Minute, func() error {
		curl, python := d.visits(t, "example-curl")["month_views  "], d.visits(t, "example-python")["month_views  "]
		clicks := d.clicks(t, "example-curl") + d.clicks(t, "example-go")
		if curl != 4 || python != 2 || clicks != 2 {
			return fmt.Errorf("counted %d and %d visits, %d clicks", curl, python, clicks)
		}
		return nil
	})
}

// TestThePageOfTheExamples opens the example page with the address of this door in it.
func TestThePageOfTheExamples(t *testing.T) {
	browser := openBrowser(t)
	d := newEmbedded(t)
	text, err := os.ReadFile(filepath.Join(examples, "page.html"))
	if err != nil {
		t.Fatal(err)
	}
	site := serveText(t, strings.ReplaceAll(string(text), "http://127.0.0.1:8080", d.url))
	browser.tab(t).run(t, chromedp.Navigate(site+"/page.html"))
	within(t, time.Minute, func() error {
		if n := d.visits(t, "example-page")["month_views  /page.html"]; n != 1 {
			return fmt.Errorf("%d views", n)
		}
		return nil
	})
}
