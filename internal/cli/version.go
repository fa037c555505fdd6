package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"footfall/internal/build"
)

// Version describes this build in one line, from the build info in the binary: version, revision, whether the sources were modified, Go's
// version and the platform.
func Version(program string) string { return describe(program, build.Info()) }

func describe(program string, info *debug.BuildInfo) string {
	var revision, modified string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = "revision " + s.Value + ", "
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "modified, "
		}
	}
	return fmt.Sprintf("footfall %s %s (%s%s%s, %s/%s)", program, build.Version(info), revision, modified,
		cmp.Or(info.GoVersion, runtime.Version()), runtime.GOOS, runtime.GOARCH)
}
