package check

import (
	"fmt"
	"regexp"
)

// extras are templates whose objects can be applied only where their operator is installed, with the values that render them.
var extras = map[string]map[string]any{
	"servicemonitor.yaml": {"serviceMonitor": map[string]any{"enabled": true}},
	"autoscaling.yaml":    {"autoscaling": map[string]any{"enabled": true}},
}

// ofHelm are lines that only make sense if Helm manages the objects.
var ofHelm = regexp.MustCompile(`(?m)^ *(app\.kubernetes\.io/managed-by|helm\.sh/chart): .*\n`)

const plainHeader = "# Rendered from deployments/helm/footfall by make k8s, with the chart's defaults. Do not edit it: change the chart.\n"

// Plain renders the chart for those who have no Helm: the contents of files by path below deployments/k8s. What not every cluster can take is in
// a folder of its own, which kubectl apply -f leaves out.
func Plain(folder string) (map[string]string, error) {
	files := map[string]string{}
	add := func(values map[string]any, only, under string) error {
		objects, err := Render(folder, values, "footfall", "footfall")
		if err != nil {
			return fmt.Errorf("rendering %s: %w", under+only, err)
		}
		byFile := map[string][]Object{}
		for _, o := range objects {
			if only == "" || o.Template == only {
				o.YAML = ofHelm.ReplaceAll(o.YAML, nil)
				byFile[under+o.Template] = append(byFile[under+o.Template], o)
			}
		}
		for name, found := range byFile {
			files[name] = plainHeader + join(found)
		}
		return nil
	}
	// kubectl has no hooks.
	if err := add(map[string]any{"migrate": map[string]any{"hook": false}}, "", ""); err != nil {
		return nil, err
	}
	for template, values := range extras {
		if err := add(values, template, "extras/"); err != nil {
			return nil, err
		}
	}
	return files, nil
}
