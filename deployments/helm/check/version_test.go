package check

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"sigs.k8s.io/yaml"
)

// next is the version that CHANGELOG.md is about: the newest one that has a name, or, while there is an Unreleased section above it, the minor version
// that follows.
func next(changelog string) string {
	sections := regexp.MustCompile(`(?m)^## (Unreleased|(\d+)\.(\d+)\.\d+)`).FindAllStringSubmatch(changelog, 2)
	for i, s := range sections {
		version := s[1]
		if version == "Unreleased" {
			continue
		}
		if minor, err := strconv.Atoi(s[3]); i > 0 && err == nil {
			version = s[2] + "." + strconv.Itoa(minor+1) + ".0"
		}
		return version
	}
	return ""
}

// appVersion is the version that the checked out code is, or will be. Images are tagged with it, also in the documents.
func TestAppVersionIsThatOfTheChangelog(t *testing.T) {
	f := func(changelog, want string) {
		t.Helper()
		if got := next(changelog); got != want {
			t.Errorf("after %q comes %q, want %q", changelog, got, want)
		}
	}
	f("# Changelog\n\n## Unreleased\n\n## 0.5.0: trust (0d06799)\n\n## 0.4.0\n", "0.6.0")
	f("# Changelog\n\n## 0.6.0: more\n\n## 0.5.0: trust (0d06799)\n", "0.6.0")
	f("# Changelog\n\n## Unreleased\n\n## 0.9.2\n", "0.10.0")

	changelog, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(chartFolder, "Chart.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var chart struct{ AppVersion string }
	if err := yaml.Unmarshal(text, &chart); err != nil {
		t.Fatal(err)
	}
	if want := next(string(changelog)); chart.AppVersion != want {
		t.Errorf("the chart's appVersion is %s, by CHANGELOG.md it is %s", chart.AppVersion, want)
	}
	page, err := os.ReadFile("../../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	tags := regexp.MustCompile(`(?:VERSION=|REGISTRY/footfall-\w+:)([\w.]+)`).FindAllStringSubmatch(string(page), -1)
	for _, tag := range tags {
		if tag[1] != chart.AppVersion {
			t.Errorf("docs/kubernetes.md has %s, the chart's appVersion is %s", tag[0], chart.AppVersion)
		}
	}
	if len(tags) < 2 {
		t.Errorf("docs/kubernetes.md builds no image with a version: %v", tags)
	}
}
