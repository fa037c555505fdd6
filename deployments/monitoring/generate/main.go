// Command generate writes the dashboard of the monitoring pack. Run it at the top of the repository.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"footfall/deployments/monitoring"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	text, err := monitoring.Dashboard()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("deployments", "monitoring", filepath.FromSlash(monitoring.DashboardFile)), text, 0o644)
}
