// Command generate writes the plain rendering of the chart into deployments/k8s. It is run in the folder of this module.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"footfall/deployments/helm/check"
)

func main() {
	if err := run("../footfall", "../../k8s"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(chart, out string) error {
	files, err := check.Plain(chart)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return fmt.Errorf("removing the old rendering: %w", err)
	}
	for name, text := range files {
		file := filepath.Join(out, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return fmt.Errorf("writing the rendering: %w", err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return fmt.Errorf("writing the rendering: %w", err)
		}
	}
	return nil
}
