package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"sigs.k8s.io/yaml"
)

// published is a CustomResourceDefinition in a Go module, as its operator publishes it.
type published struct{ module, sum, file string }

var definitions = map[string]published{
	"ScaledObject":     {"github.com/kedacore/keda/v2@v2.21.0", "h1:R6z2HZvstK4RLUMxroNACzBj74xGxt3kG59b5Xc+Xps=", "config/crd/bases/keda.sh_scaledobjects.yaml"},
	"ServiceMonitor":   {"github.com/prometheus-operator/prometheus-operator@v0.85.0", "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=", "example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml"},
	"K8ssandraCluster": {"github.com/k8ssandra/k8ssandra-operator@v1.20.0", "h1:Czi3Xe8K5ZdJantkYnf3PJJc7ul30ANMFy10wdglzCY=", "config/crd/bases/k8ssandra.io_k8ssandraclusters.yaml"},
}

// definition downloads a module and compiles the schema of a kind. The module is not built, and is no dependency.
func (p published) definition(t *testing.T, version string) *jsonschema.Schema {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", p.module)
	cmd.Dir = t.TempDir() // no go.mod: nothing is added to ours
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var module struct{ Dir, Sum, Error string }
	if jsonErr := json.Unmarshal(out, &module); err == nil {
		err = jsonErr
	}
	if err != nil || module.Error != "" {
		need(t, fmt.Errorf("downloading %s: %w: %s%s", p.module, err, module.Error, stderr.String()))
	}
	if module.Sum != p.sum {
		t.Fatalf("the checksum of %s is %s, want %s", p.module, module.Sum, p.sum)
	}
	text, err := os.ReadFile(filepath.Join(module.Dir, filepath.FromSlash(p.file)))
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema map[string]any `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Name == version {
			return compile(t, v.Schema.OpenAPIV3Schema)
		}
	}
	t.Fatalf("%s has no version %s", p.file, version)
	return nil
}

var compiled sync.Map // *jsonschema.Schema by kind

func compile(t *testing.T, schema map[string]any) *jsonschema.Schema {
	t.Helper()
	strict(schema)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft7)
	// through JSON once more: the compiler wants its own numbers
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("crd.json", document); err != nil {
		t.Fatal(err)
	}
	out, err := compiler.Compile("crd.json")
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// strict makes JSON schema of a structural schema: fields that it does not know are refused, as kubectl --validate=strict does.
func strict(schema map[string]any) {
	if schema["x-kubernetes-int-or-string"] == true {
		delete(schema, "type")
	}
	properties, _ := schema["properties"].(map[string]any)
	if len(properties) > 0 && schema["additionalProperties"] == nil && schema["x-kubernetes-preserve-unknown-fields"] != true {
		schema["additionalProperties"] = false
	}
	delete(schema, "format") // int32 and the like, which the compiler does not know
	for _, p := range properties {
		below(p)
	}
	below(schema["items"])
	below(schema["additionalProperties"])
}

func below(v any) {
	if m, ok := v.(map[string]any); ok {
		strict(m)
	}
}

// topic is all that a KafkaTopic has besides its status. Strimzi's own definition is in none of the registries that we use: these are the fields of its
// version v1, as of Strimzi 1.0.0.
type topic struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		TopicName  string         `json:"topicName"`
		Partitions int            `json:"partitions"`
		Replicas   int16          `json:"replicas"`
		Config     map[string]any `json:"config"`
	} `json:"spec"`
}

// accepts holds an object against the definition of its kind.
func accepts(t *testing.T, o Object) error {
	t.Helper()
	if o.Kind == "KafkaTopic" {
		var k topic
		err := yaml.UnmarshalStrict(o.YAML, &k)
		if err == nil && (k.APIVersion != "kafka.strimzi.io/v1" || k.Metadata.Labels["strimzi.io/cluster"] == "") {
			err = fmt.Errorf("it is of version %s and has labels %v", k.APIVersion, k.Metadata.Labels)
		}
		return err
	}
	object := *decode[map[string]any](t, o)
	schema, ok := compiled.Load(o.Kind)
	if !ok {
		_, version, _ := strings.Cut(fmt.Sprint(object["apiVersion"]), "/")
		schema = definitions[o.Kind].definition(t, version)
		compiled.Store(o.Kind, schema)
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return schema.(*jsonschema.Schema).Validate(document)
}

// Objects for the operators of others are valid by the definitions that these operators publish.
func TestCustomResources(t *testing.T) {
	found := map[string]int{}
	check := func(objects []Object) {
		for _, o := range objects {
			switch o.Kind {
			case "ScaledObject", "ServiceMonitor", "K8ssandraCluster", "KafkaTopic":
				found[o.Kind]++
				if err := accepts(t, o); err != nil {
					t.Errorf("%s %s: %v", o.Kind, o.Name, err)
				}
			}
		}
	}
	for _, set := range sets(t) {
		check(render(t, set).objects)
	}
	check(example(t, "strimzi-topics.yaml"))
	check(example(t, "k8ssandra.yaml"))
	if len(found) != 4 {
		t.Errorf("checked %v", found)
	}

	// A misspelt or wrong field must be noticed.
	wrong := func(o Object, old, replacement string) {
		t.Helper()
		o.YAML = []byte(strings.Replace(string(o.YAML), old, replacement, 1))
		if err := accepts(t, o); err == nil {
			t.Errorf("%s with %s is accepted", o.Kind, replacement)
		}
	}
	all := render(t, "autoscaled").objects
	wrong(find(t, all, "ScaledObject"), "maxReplicaCount", "maxReplicas")
	wrong(find(t, all, "ScaledObject"), "type: Percent, value: 50", "type: Percent, value: half")
	wrong(find(t, all, "ServiceMonitor"), "jobLabel", "jobLabels")
	wrong(find(t, example(t, "k8ssandra.yaml"), "K8ssandraCluster"), "nodeAffinityLabels", "affinityLabels")
	wrong(find(t, example(t, "strimzi-topics.yaml"), "KafkaTopic"), "partitions: 6", "partitions: many")
}
