package subject

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Settings are the names of the environment variables that a version knows: it refuses all others that begin with FOOTFALL_.
type Settings map[string]bool

var setting = regexp.MustCompile(`^( *)([a-z0-9_]+):`)

// ReadSettings finds them in the sources of a version: configs/*.yaml list every key.
func ReadSettings(sources string) (Settings, error) {
	files, err := filepath.Glob(filepath.Join(sources, "configs", "*.yaml"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("there is no configs/*.yaml in %s: is it a footfall? (%w)", sources, err)
	}
	known := Settings{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading settings: %w", err)
		}
		var path []string
		for line := range strings.Lines(string(text)) {
			if found := setting.FindStringSubmatch(line); found != nil {
				path = append(path[:min(len(path), len(found[1])/2)], strings.ToUpper(found[2]))
				known["FOOTFALL_"+strings.Join(path, "_")] = true
			}
		}
	}
	return known, nil
}

// of leaves out what a version does not know; nil knows everything.
func (s Settings) of(env []string) []string {
	return slices.DeleteFunc(env, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return s != nil && !s[name]
	})
}
