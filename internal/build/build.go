// Package build tells which version this is.
package build

import (
	"cmp"
	"runtime/debug"
)

// release is set by the build of the images (-ldflags), which has no history of the sources.
var release string

// Version is the release, or else the version in the build info: a tag, or a commit's pseudo-version.
func Version(info *debug.BuildInfo) string { return cmp.Or(release, info.Main.Version, "(devel)") }
