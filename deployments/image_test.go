package deployments_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The image is built with the Go version of go.mod. Another version would download that one, or refuse to build.
func TestDockerfileHasTheGoVersionOfTheModule(t *testing.T) {
	module := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(read(t, "../go.mod"))
	image := regexp.MustCompile(`(?m)^FROM golang:([0-9.]+)-`).FindStringSubmatch(read(t, "images/Dockerfile"))
	if module == nil || image == nil || module[1] != image[1] {
		t.Errorf("go.mod has %v, the Dockerfile %v", module, image)
	}
}

// .dockerignore leaves out no package that producer or consumer need.
func TestBuildContextHasTheSources(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "footfall/producer", "footfall/consumer", "footfall/reader").Output()
	if err != nil {
		t.Fatal(err)
	}
	ignored := strings.Split(read(t, "../.dockerignore"), "\n")
	count := 0
	for _, path := range strings.Fields(string(out)) {
		inside, ok := strings.CutPrefix(path, "footfall/")
		if !ok {
			continue
		}
		count++
		if top, _, _ := strings.Cut(inside, "/"); slices.Contains(ignored, top) {
			t.Errorf("%s is needed and .dockerignore leaves %s out", path, top)
		}
	}
	if count < 4 {
		t.Errorf("found %d packages: the test looks in the wrong place", count)
	}
}

// The images do not run as root. The user is a number: Kubernetes cannot check a name.
func TestImagesDoNotRunAsRoot(t *testing.T) {
	file := read(t, "images/Dockerfile")
	if stages, users := strings.Count(file, "\nFROM scratch AS "), strings.Count(file, "\nUSER 65532:65532\n"); stages != 3 || users != 3 {
		t.Errorf("%d final stages, %d with a numeric user", stages, users)
	}
}
