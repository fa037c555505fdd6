package main

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"footfall/test/harness"
)

// TestTheFirstPageSaysHowToSend: the commands that an empty store's pages show work when they are pasted, whatever the port is, and what they
// send is on the page then.
func TestTheFirstPageSaysHowToSend(t *testing.T) {
	_, err := exec.LookPath("curl")
	harness.Need(t, err)
	t.Setenv("FOOTFALL_FEATURES", "source,page")
	f := start(t, t.TempDir())
	read := func(path string) string {
		t.Helper()
		response, err := http.Get(f.reader + path)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s: %v", path, response.Status, err)
		}
		return string(text)
	}
	paste := func(path string, want int) {
		t.Helper()
		commands := regexp.MustCompile(`(?s)<code>(.*?)</code>`).FindAllStringSubmatch(read(path), -1)
		if len(commands) != want {
			t.Fatalf("%s shows %d commands, want %d", path, len(commands), want)
		}
		for _, command := range commands {
			text := html.UnescapeString(command[1])
			if out, err := exec.Command("sh", "-c", strings.Replace(text, "curl ", "curl -sS --fail-with-body ", 1)).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", text, err, out)
			}
		}
	}
	shows := func(path string, wants ...string) {
		t.Helper()
		harness.Within(t, patience, path, func() error {
			text := read(path)
			for _, want := range wants {
				if !strings.Contains(text, want) {
					return fmt.Errorf("%s has no %s", path, want)
				}
			}
			return nil
		})
	}
	paste("/", 2)
	shows("/", `href="/links/abc"`, `href="/sites/site1"`, "Taken in during the last minute")
	paste("/links/mine", 1)
	paste("/sites/shop.example", 1)
	shows("/links/mine", "Clicks by day")
	shows("/sites/shop.example", "news.example", "/index.html")
	for path, most := range map[string]int{"/links/mine": 0, "/sites/shop.example": 1} { // what a page offers for download is there
		exports := 0
		for _, found := range regexp.MustCompile(`href="([^"]*)" download`).FindAllStringSubmatch(read(path), -1) {
			if strings.Contains(found[1], "/export?") {
				if exports++; exports > most || testing.Short() {
					continue // each waits for a consumer to say how far it is
				}
			}
			if read(html.UnescapeString(found[1])) == "" {
				t.Errorf("%s is empty", found[1])
			}
		}
		if exports != 2 { // one process has no Parquet
			t.Errorf("%s has %d exports", path, exports)
		}
	}
}
