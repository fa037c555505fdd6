// Package check renders the Helm chart, and its tests hold it to what Kubernetes, the operators of others and footfall itself accept. It is a
// module of its own: footfall does not depend on Helm.
package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Object is one Kubernetes object as the chart renders it.
type Object struct {
	Template string // the file of the chart, without its folder
	Kind     string
	Name     string
	YAML     []byte
}

// Render renders the chart in a folder, as helm template does. Values are checked against the chart's schema first. Objects are in the order of
// their files.
func Render(folder string, values map[string]any, release, namespace string) ([]Object, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, fmt.Errorf("loading the chart: %w", err)
	}
	all, err := util.ToRenderValues(chart, values, common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return nil, fmt.Errorf("checking values: %w", err)
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, fmt.Errorf("rendering: %w", err)
	}
	var objects []Object
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		found, err := split(path.Base(name), files[name])
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	return objects, nil
}

// split divides a rendered file into its objects.
func split(template, text string) (objects []Object, err error) {
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		document = bytes.TrimPrefix(bytes.TrimSpace(document), []byte("---\n"))
		o := Object{Template: template, YAML: append(bytes.TrimSpace(document), '\n')}
		var head struct {
			Kind     string
			Metadata struct{ Name string }
		}
		if err := yaml.Unmarshal(document, &head); err != nil {
			return nil, err
		}
		if head.Kind == "" {
			continue // comments alone
		}
		o.Kind, o.Name = head.Kind, head.Metadata.Name
		objects = append(objects, o)
	}
}

// join is the inverse of split.
func join(objects []Object) string {
	var out strings.Builder
	for i, o := range objects {
		if i > 0 {
			out.WriteString("---\n")
		}
		out.Write(o.YAML)
	}
	return out.String()
}
