package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// manifest is the part of Kubernetes objects that tells how a process is started and asked.
type manifest struct {
	Kind string
	Data map[string]string // of a ConfigMap
	Spec struct {
		Template struct {
			Spec struct {
				EnableServiceLinks *bool `yaml:"enableServiceLinks"`
				Containers         []struct {
					Args           []string
					StartupProbe   podProbe `yaml:"startupProbe"`
					LivenessProbe  podProbe `yaml:"livenessProbe"`
					ReadinessProbe podProbe `yaml:"readinessProbe"`
				}
			}
		}
	}
}

type podProbe struct {
	Get struct{ Path, Port string } `yaml:"httpGet"`
}

// readManifest finds the pod and the configuration in a file of deployments/k8s, and writes the configuration to a folder.
func readManifest(t *testing.T, name, folder string) (pod manifest, args []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deployments", "k8s", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	documents := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var m manifest
		if err := documents.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for file, text := range m.Data {
			if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if len(m.Spec.Template.Spec.Containers) == 1 {
			pod = m
		}
	}
	if pod.Kind == "" {
		t.Fatalf("%s has no pod", name)
	}
	for _, arg := range pod.Spec.Template.Spec.Containers[0].Args {
		args = append(args, strings.Replace(arg, "/etc/footfall/", folder+"/", 1))
	}
	return pod, args
}

// The real processes start with the arguments and the configuration of deployments/k8s, where only addresses of servers are others, and answer the probes.
func TestPodsStartAndAnswerTheirProbes(t *testing.T) {
	d := prepareReal(t, byDefault)
	// The configuration has three nodes in dc1; here is one.
	env := append(d.env, "FOOTFALL_CASSANDRA_LOCAL_DC=datacenter1", "FOOTFALL_CASSANDRA_REPLICATION={'class': 'SimpleStrategy', 'replication_factor': 1}")
	folder := t.TempDir()
	_, args := readManifest(t, "migrate", folder)
	if printed, err := process.Run(patiently(t), process.Command{Name: "job", Path: binaries.Path(t, "consumer"), Args: args, Env: env, Dir: d.dir}); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	// Kubernetes starts them in any order. The consumer comes first here: it waits for the topics that the producer makes.
	pods := []struct {
		name    string
		listens *regexp.Regexp
		probes  []string
	}{{name: "consumer", listens: consumerReady}, {name: "reader", listens: adminListening}, {name: "producer", listens: adminListening}}
	for i := range pods {
		name := pods[i].name
		pod, args := readManifest(t, name, folder)
		if links := pod.Spec.Template.Spec.EnableServiceLinks; links == nil || *links {
			t.Errorf("%s gets variables of Services", name)
		}
		p := start(t, process.Command{Name: "pod-" + name, Path: binaries.Path(t, name), Args: args, Env: env, Dir: d.dir})
		addr, err := p.Expect(patiently(t), pods[i].listens)
		if err != nil {
			t.Fatal(err)
		}
		c := pod.Spec.Template.Spec.Containers[0]
		for _, asked := range []podProbe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if asked.Get.Port != "admin" {
				t.Errorf("%s is asked at port %q", name, asked.Get.Port)
			}
			pods[i].probes = append(pods[i].probes, "http://"+addr+asked.Get.Path)
		}
	}
	for _, pod := range pods {
		for _, url := range pod.probes {
			harness.Within(t, time.Minute, "an answer of "+pod.name, func() error { return answers(url) })
		}
	}
}

func answers(url string) error {
	response, err := http.Get(url)
	if err != nil {
		return err
	}
	_ = response.Body.Close() // nothing of it is read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}

// Kubernetes would tell a pod of the Services around it by variables that look like keys of the configuration. That is why the pods turn it off.
func TestVariablesOfServicesAreRefused(t *testing.T) {
	printed, err := process.Run(patiently(t), process.Command{Name: "consumer", Path: binaries.Path(t, "consumer"), Args: []string{"healthz"}, Dir: t.TempDir(),
		Env: []string{"FOOTFALL_PRODUCER_SERVICE_HOST=10.0.0.1"}})
	if err == nil || !strings.Contains(printed, "FOOTFALL_PRODUCER_SERVICE_HOST") {
		t.Errorf("%v: %s", err, printed)
	}
}
