package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// validator is where make kubernetes-validate puts it.
const validator = "../../../.tools/kubernetes-validate-1.37.0/bin/kubernetes-validate"

// kubernetes are the versions that the chart is held to: the oldest that it allows, the newest that is known, and some between.
var kubernetes = []string{"1.30", "1.32", "1.34", "1.37"}

// need skips the test where a tool is missing, or fails it with CI=true.
func need(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("with CI=true this test must run: %v", err)
	default:
		t.Skip(err)
	}
}

// validate runs kubernetes-validate over objects, strictly, and returns what it says. Objects of operators are left out: see TestCustomResources.
func validate(t *testing.T, folder string, objects map[string][]Object) (string, error) {
	t.Helper()
	var args []string
	for _, v := range kubernetes {
		args = append(args, "-k", v)
	}
	args = append(args, "--strict", "--quiet")
	for name, found := range objects {
		var own []Object
		for _, o := range found {
			if o.Kind != "ServiceMonitor" && o.Kind != "ScaledObject" {
				own = append(own, o)
			}
		}
		file := filepath.Join(folder, name+".yaml")
		if err := os.WriteFile(file, []byte(join(own)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	out, err := exec.CommandContext(t.Context(), validator, args...).CombinedOutput()
	return string(out), err
}

// All objects are valid in several versions of Kubernetes, without an unknown field.
func TestKubernetesAcceptsAll(t *testing.T) {
	_, err := exec.LookPath(validator)
	need(t, err)
	objects := map[string][]Object{}
	for _, set := range sets(t) {
		objects[set] = render(t, set).objects
	}
	// It also says, and goes on, if it has no schema for an object.
	if printed, err := validate(t, t.TempDir(), objects); err != nil || printed != "" {
		t.Errorf("%v\n%s", err, printed)
	}

	// It must notice what is wrong, or it proves nothing.
	wrong := []Object{{YAML: []byte(strings.Replace(string(find(t, objects["defaults"], "Deployment").YAML), "maxUnavailable:", "maxUnavailble:", 1))}}
	printed, err := validate(t, t.TempDir(), map[string][]Object{"wrong": wrong})
	if err == nil || strings.Count(printed, "maxUnavailble") != len(kubernetes) {
		t.Errorf("a misspelt field passed: %v\n%s", err, printed)
	}
}

func find(t *testing.T, in []Object, kind string) Object {
	t.Helper()
	for _, o := range in {
		if o.Kind == kind {
			return o
		}
	}
	t.Fatalf("there is no %s", kind)
	return Object{}
}
