package check

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"footfall/configs"
)

// file is the configuration file of a component, and its name in the pod.
func (r *rendering) file(t *testing.T, of string) (name, text string) {
	t.Helper()
	pod := r.pods()[of]
	args := pod.Spec.Containers[0].Args
	if len(args) < 2 || args[0] != "--config" {
		t.Fatalf("%s is started with %v", of, args)
	}
	folder, name := filepath.Split(args[1])
	for _, m := range pod.Spec.Containers[0].VolumeMounts {
		if m.MountPath+"/" != folder {
			continue
		}
		for _, v := range pod.Spec.Volumes {
			if v.Name == m.Name && v.ConfigMap != nil && r.configs[v.ConfigMap.Name] != nil {
				return name, r.configs[v.ConfigMap.Name].Data[name]
			}
		}
	}
	t.Fatalf("%s reads %s, which nothing mounts", of, args[1])
	return "", ""
}

// shape is what all configurations have.
type shape struct {
	HTTP struct {
		Addr      string
		AdminAddr string `json:"admin_addr"`
		TLS       struct{ Cert, Key string }
	}
	Kafka struct {
		Brokers []string
		TLS     client
		SASL    struct{ Mechanism string }
	}
	Cassandra struct {
		Hosts    []string
		Port     int
		Username string
		TLS      client
	}
	Privacy struct{ IP string }
}

type client struct {
	Enabled       bool
	CA, Cert, Key string
}

func (r *rendering) config(t *testing.T, of string) (s shape) {
	t.Helper()
	_, text := r.file(t, of)
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// footfall itself reads each configuration, with the environment of its pod, and finds nothing unknown.
func TestConfigurationsAreRead(t *testing.T) {
	onEachSet(t, func(t *testing.T, r *rendering) {
		for of, pod := range r.pods() {
			t.Run(of, func(t *testing.T) {
				name, text := r.file(t, of)
				file := filepath.Join(t.TempDir(), name)
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, e := range pod.Spec.Containers[0].Env {
					t.Setenv(e.Name, e.Value+map[bool]string{true: "a secret of 32 bytes and some more"}[e.ValueFrom != nil])
				}
				var err error
				switch name {
				case "producer.yaml":
					_, err = configs.LoadProducer(file)
				case "consumer.yaml":
					var c configs.Consumer
					if c, err = configs.LoadConsumer(file); err == nil && c.Cassandra.Replication == "" {
						t.Error("no replication")
					}
				case "reader.yaml":
					_, err = configs.LoadReader(file)
				}
				if err != nil {
					t.Errorf("%v\n%s", err, text)
				}
			})
		}
	})
}

// The ports of a pod are those that its process listens on, on all addresses.
func TestPortsAreThoseOfTheConfiguration(t *testing.T) {
	onEachSet(t, func(t *testing.T, r *rendering) {
		for of, d := range r.deployments {
			s := r.config(t, of)
			want := map[string]string{"http": s.HTTP.Addr, "admin": s.HTTP.AdminAddr}
			if of == "consumer" {
				want = map[string]string{"admin": s.HTTP.Addr}
			}
			for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
				host, number, _ := strings.Cut(want[p.Name], ":")
				if host != "" || number != strconv.Itoa(int(p.ContainerPort)) {
					t.Errorf("%s: port %s is %d, the process listens on %q", of, p.Name, p.ContainerPort, want[p.Name])
				}
				delete(want, p.Name)
			}
			if len(want) > 0 {
				t.Errorf("%s: no port for %v", of, want)
			}
		}
	})
}

// Certificates and passwords that a configuration needs are in the pod, and others are not.
func TestSecretsReachWhoNeedsThem(t *testing.T) {
	onEachSet(t, func(t *testing.T, r *rendering) {
		for of, pod := range r.pods() {
			s := r.config(t, of)
			wanted := map[string]bool{
				"FOOTFALL_KAFKA_SASL_PASSWORD":  s.Kafka.SASL.Mechanism != "" && of != "migrate",
				"FOOTFALL_CASSANDRA_PASSWORD":   s.Cassandra.Username != "",
				"FOOTFALL_PRIVACY_SECRET":       s.Privacy.IP == "hashed",
				"FOOTFALL_ACCESS_SHARE_SECRETS": of == "reader",
			}
			for _, e := range pod.Spec.Containers[0].Env {
				if e.ValueFrom == nil {
					continue
				}
				if !wanted[e.Name] {
					t.Errorf("%s has %s, which it does not need", of, e.Name)
				}
				delete(wanted, e.Name)
				if !r.given(of, e.Name) {
					r.checkSecret(t, of, e)
				}
			}
			for name, needed := range wanted {
				if needed {
					t.Errorf("%s lacks %s", of, name)
				}
			}
			files := []string{s.Kafka.TLS.CA, s.Kafka.TLS.Cert, s.Kafka.TLS.Key, s.Cassandra.TLS.CA, s.Cassandra.TLS.Cert, s.HTTP.TLS.Cert, s.HTTP.TLS.Key}
			for _, file := range files {
				if file == "" || (of == "migrate" && strings.Contains(file, "kafka")) {
					continue
				}
				if !slices.ContainsFunc(pod.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == filepath.Dir(file) }) {
					t.Errorf("%s needs %s, which nothing mounts", of, file)
				}
			}
		}
	})
}

// Each variable of a pod is there once: Kubernetes refuses others when they are applied by the server. What values say wins.
func TestVariablesAreThereOnce(t *testing.T) {
	won := 0
	onEachSet(t, func(t *testing.T, r *rendering) {
		for of, pod := range r.pods() {
			seen := map[string]bool{}
			for _, e := range pod.Spec.Containers[0].Env {
				if seen[e.Name] {
					t.Errorf("%s has %s twice", of, e.Name)
				}
				seen[e.Name] = true
				if from := e.ValueFrom; r.given(of, e.Name) && from != nil && from.SecretKeyRef != nil && from.SecretKeyRef.Key != e.Name {
					won++
				}
			}
		}
	})
	if won != 2 {
		t.Errorf("%d variables of a value set stand for those of the chart, want 2", won)
	}
}

// given tells whether the values of a component bring a variable themselves.
func (r *rendering) given(of, name string) bool {
	env, _ := dig(r.values, of, "env").([]any)
	return slices.ContainsFunc(env, func(e any) bool { return dig(e, "name") == name })
}

// checkSecret looks whether a Secret of the chart has what a pod asks of it. Helm makes Secrets of hooks before others.
func (r *rendering) checkSecret(t *testing.T, of string, e corev1.EnvVar) {
	t.Helper()
	from := e.ValueFrom.SecretKeyRef
	if given, _ := dig(r.values, "secret", "name").(string); given != "" {
		if from.Name != given {
			t.Errorf("%s takes %s from %s, want %s", of, e.Name, from.Name, given)
		}
		return
	}
	secret := r.secrets[from.Name]
	optional := from.Optional != nil && *from.Optional
	if !optional && (secret == nil || secret.StringData[from.Key] == "") {
		t.Errorf("%s takes %s from %s, which lacks it", of, e.Name, from.Name)
	}
	if hook := r.job.Annotations["helm.sh/hook"]; of == "migrate" && secret.Annotations["helm.sh/hook"] != hook {
		t.Errorf("the job is made %q, its Secret %q", hook, secret.Annotations["helm.sh/hook"])
	}
}
