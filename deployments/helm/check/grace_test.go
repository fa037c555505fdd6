package check

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"footfall/configs"
)

// constant reads an unexported constant of the product: a number, or a duration.
func constant(t *testing.T, file, name string) time.Duration {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("../../..", file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range parsed.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, s := range group.Specs {
			for i, ident := range s.(*ast.ValueSpec).Names {
				if ident.Name != name {
					continue
				}
				value, err := evaluate(s.(*ast.ValueSpec).Values[i])
				if err != nil {
					t.Fatalf("%s in %s: %v", name, file, err)
				}
				return value
			}
		}
	}
	t.Fatalf("%s has no constant %s", file, name)
	return 0
}

// evaluate knows whole numbers, units of time, and products of them.
func evaluate(e ast.Expr) (time.Duration, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 0, 64)
		return time.Duration(n), err
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute}
		if unit, ok := units[e.Sel.Name]; ok {
			return unit, nil
		}
		return 0, fmt.Errorf("unknown unit %s", e.Sel.Name)
	case *ast.BinaryExpr:
		if e.Op != token.MUL {
			return 0, fmt.Errorf("unknown operator %s", e.Op)
		}
		x, errX := evaluate(e.X)
		y, errY := evaluate(e.Y)
		return x * y, errors.Join(errX, errY)
	}
	return 0, fmt.Errorf("unknown expression %T", e)
}

// ends is how long processes take to end at the most, with their default settings: what the code says.
func ends(t *testing.T) (last, consumer, producer, reader time.Duration) {
	t.Helper()
	cfg, err := configs.LoadProducer("")
	if err != nil {
		t.Fatal(err)
	}
	last = constant(t, "consumer/rollup/generation.go", "drainTimeout")
	// If the last chunk fails, the consumer notes a doubt.
	consumer = last + constant(t, "consumer/repair/doubter.go", "exitAttempts")*constant(t, "consumer/repair/doubter.go", "ExitTimeout")
	// The publisher closes when requests and clicks, which have the same time, are over.
	requests, clicks := constant(t, "producer/intake/server.go", "requestGrace"), constant(t, "producer/intake/server.go", "clickGrace")
	producer = cfg.Kafka.Timeout + max(requests, clicks) + constant(t, "producer/publisher/publisher.go", "closeTimeout")
	return last, consumer, producer, constant(t, "reader/web/serve.go", "shutdownGrace")
}

// Pods have the time to end that processes take at the most.
func TestGraceIsLongerThanTheEnd(t *testing.T) {
	_, consumer, producer, reader := ends(t)
	most := map[string]time.Duration{"consumer": consumer, "producer": producer, "reader": reader}
	onEachSet(t, func(t *testing.T, r *rendering) {
		for name, d := range r.deployments {
			least := most[name]
			if public := port(d.Spec.Template, "http") != 0; public {
				hook := d.Spec.Template.Spec.Containers[0].Lifecycle
				if hook == nil || hook.PreStop == nil || hook.PreStop.Sleep == nil {
					t.Errorf("%s ends before load balancers know", name)
					continue
				}
				least += time.Duration(hook.PreStop.Sleep.Seconds) * time.Second
			}
			if grace := time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; grace < least {
				t.Errorf("%s has %s to end, and may take %s", name, grace, least)
			}
		}
	})
	// The least that values may say, where the schema has a bound for the consumer alone.
	text, err := os.ReadFile(filepath.Join(chartFolder, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := yaml.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	bound, _ := dig(schema, "properties", "consumer", "properties", "terminationGracePeriodSeconds", "minimum").(float64)
	if allowed := time.Duration(bound) * time.Second; allowed < consumer {
		t.Errorf("values may give a consumer %s to end, and it may take %s", allowed, consumer)
	}
}

// What values.yaml and docs/kubernetes.md tell of these times is what the code has.
func TestTimesOfTheEndAreTold(t *testing.T) {
	last, _, producer, reader := ends(t)
	for file, sentences := range map[string][]string{
		filepath.Join(chartFolder, "values.yaml"): {
			fmt.Sprintf("writes its last chunk first, for up to %.0f s", last.Seconds()), fmt.Sprintf("Kafka's answers take up to %.0f s more", producer.Seconds()),
			fmt.Sprintf("%.0f s for answers under way", reader.Seconds()),
		},
		"../../../docs/kubernetes.md": {fmt.Sprintf("writes its last chunk for up to %.0f s", last.Seconds())},
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sentences {
			if !strings.Contains(string(text), s) {
				t.Errorf("%s does not say %q", file, s)
			}
		}
	}
}
