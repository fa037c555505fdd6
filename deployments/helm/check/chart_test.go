package check

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
)

// helm lint finds nothing, not even what it only warns of.
func TestLint(t *testing.T) {
	for _, set := range sets(t) {
		t.Run(set, func(t *testing.T) {
			for _, m := range lint.RunAll(chartFolder, readValues(t, set), "counting").Messages {
				if m.Severity > support.InfoSev {
					t.Error(m)
				}
			}
		})
	}
}

// Each set shows something of its own, and renders strictly decodable objects.
func TestTemplate(t *testing.T) {
	onEachSet(t, func(t *testing.T, r *rendering) {
		names := map[string]bool{}
		for _, o := range r.objects {
			if id := o.Kind + "/" + o.Name; names[id] {
				t.Errorf("%s is there twice", id)
			} else {
				names[id] = true
			}
		}
		want := []string{"producer", "consumer", "reader"}
		if dig(r.values, "reader", "enabled") == false {
			want = want[:2]
		}
		for _, c := range want {
			d := r.deployments[c]
			if d == nil || !strings.HasSuffix(d.Name, "footfall-"+c) || r.configs[d.Name] == nil {
				t.Errorf("the deployment of %s, or its ConfigMap, is missing", c)
			}
		}
		if len(r.deployments) != len(want) {
			t.Errorf("deployments: %v", sorted(r.deployments))
		}
		scaled := r.others["ScaledObject"] != nil
		if without := r.deployments["consumer"].Spec.Replicas == nil; without != scaled {
			t.Errorf("scaled %t, without a number of replicas %t: an upgrade must not undo what the autoscaler did", scaled, without)
		}
	})
}

// A release of another name gets names of its own, all with footfall in them; a name that is too long is refused.
func TestNames(t *testing.T) {
	objects, err := Render(chartFolder, nil, "blue", "counting")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if !strings.HasPrefix(o.Name, "blue-footfall") {
			t.Errorf("%s %s", o.Kind, o.Name)
		}
	}
	if _, err := Render(chartFolder, nil, strings.Repeat("long-", 10)+"me", "counting"); err == nil || !strings.Contains(err.Error(), "fullnameOverride") {
		t.Errorf("a name that is too long: %v", err)
	}
}

// deployments/k8s is what make k8s writes.
func TestPlainRenderingIsFresh(t *testing.T) {
	want, err := Plain(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	const folder = "../../k8s"
	err = filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if _, ok := want[filepath.ToSlash(name)]; !ok {
			t.Errorf("%s is not made of the chart: run make k8s", file)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || string(got) != text {
			t.Errorf("deployments/k8s/%s is not fresh (%v): run make k8s", name, err)
		}
		if strings.Contains(text, "helm.sh/") || strings.Contains(text, ": Helm") {
			t.Errorf("%s speaks of Helm", name)
		}
	}
	for _, name := range []string{"migrate.yaml", "consumer.yaml", "extras/autoscaling.yaml", "extras/servicemonitor.yaml"} {
		if want[name] == "" {
			t.Errorf("there is no %s", name)
		}
	}
	if !strings.Contains(want["consumer.yaml"], "\n  replicas: 2\n") {
		t.Error("the plain consumer has no number of replicas")
	}
}
