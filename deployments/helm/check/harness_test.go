package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const (
	chartFolder = "../footfall"
	component   = "app.kubernetes.io/component"
)

// sets are the value sets of ci/, by name.
func sets(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartFolder, "ci", "*.yaml"))
	if err != nil || len(files) < 5 {
		t.Fatalf("found %d value sets, want five or more: %v", len(files), err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	return names
}

// onEachSet runs a test on the rendering of every value set.
func onEachSet(t *testing.T, test func(t *testing.T, r *rendering)) {
	for _, set := range sets(t) {
		t.Run(set, func(t *testing.T) { test(t, render(t, set)) })
	}
}

// rendering is what the chart makes of a value set, decoded strictly: an unknown or repeated field is an error.
type rendering struct {
	values      map[string]any
	objects     []Object
	deployments map[string]*appsv1.Deployment // by component
	job         *batchv1.Job
	configs     map[string]*corev1.ConfigMap // by name
	secrets     map[string]*corev1.Secret
	services    []*corev1.Service
	budgets     []*policyv1.PodDisruptionBudget
	policies    []*networkingv1.NetworkPolicy
	others      map[string]map[string]any // custom resources, by kind
}

func readValues(t *testing.T, set string) map[string]any {
	t.Helper()
	values := map[string]any{}
	text, err := os.ReadFile(filepath.Join(chartFolder, "ci", set+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

func render(t *testing.T, set string) *rendering {
	t.Helper()
	return renderValues(t, readValues(t, set))
}

func renderValues(t *testing.T, values map[string]any) *rendering {
	t.Helper()
	objects, err := Render(chartFolder, values, "footfall", "counting")
	if err != nil {
		t.Fatal(err)
	}
	r := &rendering{values: values, objects: objects, deployments: map[string]*appsv1.Deployment{}, configs: map[string]*corev1.ConfigMap{},
		secrets: map[string]*corev1.Secret{}, others: map[string]map[string]any{}}
	for _, o := range objects {
		r.add(t, o)
	}
	if r.job == nil || len(r.deployments) < 2 {
		t.Fatalf("%d deployments, job %v", len(r.deployments), r.job)
	}
	return r
}

func (r *rendering) add(t *testing.T, o Object) {
	t.Helper()
	switch o.Kind {
	case "Deployment":
		d := decode[appsv1.Deployment](t, o)
		r.deployments[d.Labels[component]] = d
	case "Job":
		r.job = decode[batchv1.Job](t, o)
	case "ConfigMap":
		r.configs[o.Name] = decode[corev1.ConfigMap](t, o)
	case "Secret":
		r.secrets[o.Name] = decode[corev1.Secret](t, o)
	case "Service":
		r.services = append(r.services, decode[corev1.Service](t, o))
	case "PodDisruptionBudget":
		r.budgets = append(r.budgets, decode[policyv1.PodDisruptionBudget](t, o))
	case "NetworkPolicy":
		r.policies = append(r.policies, decode[networkingv1.NetworkPolicy](t, o))
	case "ServiceMonitor", "ScaledObject":
		r.others[o.Kind] = *decode[map[string]any](t, o)
	default:
		t.Errorf("%s %s: no test knows this kind", o.Kind, o.Name)
	}
}

func decode[T any](t *testing.T, o Object) *T {
	t.Helper()
	into := new(T)
	if err := yaml.UnmarshalStrict(o.YAML, into); err != nil {
		t.Fatalf("%s %s: %v\n%s", o.Kind, o.Name, err, o.YAML)
	}
	return into
}

// pods are the templates of all pods, by component.
func (r *rendering) pods() map[string]corev1.PodTemplateSpec {
	out := map[string]corev1.PodTemplateSpec{"migrate": r.job.Spec.Template}
	for name, d := range r.deployments {
		out[name] = d.Spec.Template
	}
	return out
}

// port is a container port by name; 0 if there is none.
func port(pod corev1.PodTemplateSpec, name string) int32 {
	for _, p := range pod.Spec.Containers[0].Ports {
		if p.Name == name {
			return p.ContainerPort
		}
	}
	return 0
}

// dig follows keys into decoded YAML, and returns nil where there is nothing.
func dig(in any, keys ...string) any {
	for _, key := range keys {
		m, _ := in.(map[string]any)
		in = m[key]
	}
	return in
}

func sorted[K ~string, V any](m map[K]V) []K {
	var keys []K
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
