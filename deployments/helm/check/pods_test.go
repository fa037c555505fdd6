package check

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"footfall/internal/health"
)

// No pod may do more than run one binary.
func TestPodsHaveNoRights(t *testing.T) {
	onEachSet(t, func(t *testing.T, r *rendering) {
		for name, pod := range r.pods() {
			p, c := pod.Spec.SecurityContext, pod.Spec.Containers[0].SecurityContext
			switch {
			case len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) != 0 || p == nil || c == nil:
				t.Fatalf("%s: %d containers, %v, %v", name, len(pod.Spec.Containers), p, c)
			case p.RunAsNonRoot == nil || !*p.RunAsNonRoot || p.RunAsUser == nil || *p.RunAsUser != 65532:
				t.Errorf("%s may run as root", name)
			case p.SeccompProfile == nil || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
				t.Errorf("%s may use every system call", name)
			case c.ReadOnlyRootFilesystem == nil || !*c.ReadOnlyRootFilesystem:
				t.Errorf("%s may write to its root file system", name)
			case c.AllowPrivilegeEscalation == nil || *c.AllowPrivilegeEscalation || c.Privileged != nil:
				t.Errorf("%s may get more rights", name)
			case c.Capabilities == nil || !slices.Equal(c.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(c.Capabilities.Add) > 0:
				t.Errorf("%s has capabilities %v", name, c.Capabilities)
			case pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken:
				t.Errorf("%s gets a token of Kubernetes", name)
			case pod.Spec.HostNetwork || pod.Spec.HostPID || pod.Spec.HostIPC:
				t.Errorf("%s shares something with its node", name)
			}
			for _, v := range pod.Spec.Volumes {
				if v.ConfigMap == nil && v.Secret == nil {
					t.Errorf("%s mounts %s", name, v.Name)
				}
			}
			// Kubernetes would tell a pod of the Service footfall-producer by FOOTFALL_PRODUCER_PORT, and footfall refuses unknown keys.
			if pod.Spec.EnableServiceLinks == nil || *pod.Spec.EnableServiceLinks {
				t.Errorf("%s gets variables FOOTFALL_… of Services, and would not start", name)
			}
			memory := pod.Spec.Containers[0].Resources.Limits.Memory()
			if memory.IsZero() || !memory.Equal(*pod.Spec.Containers[0].Resources.Requests.Memory()) {
				t.Errorf("%s asks for less memory than it may take: its node may run out of it", name)
			}
		}
	})
}

// Probes ask for paths that the processes have, on the port of operators. test/e2e asks the real processes.
func TestProbes(t *testing.T) {
	slowest := constant(t, "internal/health/ready.go", "probeTimeout")
	onEachSet(t, func(t *testing.T, r *rendering) {
		ready := health.Handler(health.NewRegistry("probed"), func() error { return nil })
		for name, d := range r.deployments {
			c := d.Spec.Template.Spec.Containers[0]
			for what, probe := range map[string]*corev1.Probe{"/healthz": c.LivenessProbe, "/readyz": c.ReadinessProbe, "/healthz ": c.StartupProbe} {
				if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != strings.TrimSpace(what) || probe.HTTPGet.Port.StrVal != "admin" || probe.HTTPGet.Scheme != "" {
					t.Errorf("%s: probe %v, want GET %s at port admin, in plain HTTP", name, probe, what)
					continue
				}
				answer := httptest.NewRecorder()
				if ready.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, probe.HTTPGet.Path, nil)); answer.Code != http.StatusOK {
					t.Errorf("%s: GET %s is answered with %d", name, probe.HTTPGet.Path, answer.Code)
				}
				if time.Duration(probe.TimeoutSeconds)*time.Second <= slowest {
					t.Errorf("%s: %s has %d s to answer", name, what, probe.TimeoutSeconds)
				}
			}
			if start := c.StartupProbe; start.PeriodSeconds*start.FailureThreshold < 120 {
				t.Errorf("%s has %d s to start: servers may need more", name, start.PeriodSeconds*start.FailureThreshold)
			}
		}
	})
}

// checkEgress holds what pods may reach against their configuration.
func (r *rendering) checkEgress(t *testing.T, of string, rules []networkingv1.NetworkPolicyEgressRule) {
	t.Helper()
	open := map[int32]bool{}
	for _, rule := range rules {
		for _, p := range rule.Ports {
			open[p.Port.IntVal] = true
		}
		for _, to := range rule.To {
			if to.PodSelector != nil && to.NamespaceSelector == nil && len(r.chosen(selector(t, to.PodSelector))) == 0 {
				t.Errorf("%s may reach pods that are not there: %v", of, to.PodSelector)
			}
		}
	}
	want := map[int32]bool{53: true}
	cfg := r.config(t, of)
	for _, broker := range cfg.Kafka.Brokers {
		if of != "migrate" {
			n, err := strconv.ParseInt(broker[strings.LastIndex(broker, ":")+1:], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			want[int32(n)] = true
		}
	}
	if cfg.Cassandra.Port != 0 {
		want[int32(cfg.Cassandra.Port)] = true
	}
	for p := range want {
		if !open[p] {
			t.Errorf("%s cannot reach port %d", of, p)
		}
	}
}
