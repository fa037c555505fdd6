// Package build tells which version this is.
package build

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// release is set by the build of the images (-ldflags), which has no history of the sources.
var release string

// Version is the release, or else the version in the build info: a tag, or a commit's pseudo-version.
func Version(info *debug.BuildInfo) string { return cmp.Or(release, info.Main.Version, "(devel)") }

// Info is the build info in the binary, or what is known without.
func Info() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{GoVersion: runtime.Version()}
}
