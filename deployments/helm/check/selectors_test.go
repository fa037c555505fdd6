package check

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// chosen are the components whose pods a selector finds.
func (r *rendering) chosen(s labels.Selector) (found []string) {
	for name, pod := range r.pods() {
		if s.Matches(labels.Set(pod.Labels)) {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

func selector(t *testing.T, s *metav1.LabelSelector) labels.Selector {
	t.Helper()
	out, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every selector finds the pods of its own component, and no others.
func TestSelectorsFindTheirPods(t *testing.T) {
	onEachSet(t, func(t *testing.T, r *rendering) {
		own := func(what, of string, s labels.Selector) {
			t.Helper()
			if found := r.chosen(s); !slices.Equal(found, []string{of}) {
				t.Errorf("%s selects pods of %v, want %s", what, found, of)
			}
		}
		budgets := 0
		for name, d := range r.deployments {
			own("deployment "+name, name, selector(t, d.Spec.Selector))
			if len(d.Spec.Template.Spec.TopologySpreadConstraints) != 2 {
				t.Errorf("%s is spread over %v", name, d.Spec.Template.Spec.TopologySpreadConstraints)
			}
			for _, c := range d.Spec.Template.Spec.TopologySpreadConstraints {
				own("topology spread of "+name, name, selector(t, c.LabelSelector))
			}
			if dig(r.values, name, "podDisruptionBudget") != false {
				budgets++
			}
		}
		if len(r.budgets) != budgets {
			t.Errorf("%d budgets for evictions, want %d", len(r.budgets), budgets)
		}
		for _, b := range r.budgets {
			own("budget "+b.Name, b.Labels[component], selector(t, b.Spec.Selector))
		}
		for _, s := range r.services {
			of := s.Labels[component]
			own("service "+s.Name, of, labels.SelectorFromSet(s.Spec.Selector))
			for _, p := range s.Spec.Ports {
				if port(r.pods()[of], p.TargetPort.StrVal) == 0 {
					t.Errorf("service %s leads to port %v, which the pods of %s lack", s.Name, p.TargetPort, of)
				}
			}
			if public := !strings.HasSuffix(s.Name, "-admin"); public && slices.ContainsFunc(s.Spec.Ports, isAdmin) {
				t.Errorf("service %s shows the operators' port to the public", s.Name)
			}
		}
	})
}

func isAdmin(p corev1.ServicePort) bool { return p.TargetPort == intstr.FromString("admin") }

// Each pod has one policy. It lets in what the pod listens on, and out what its configuration names.
func TestNetworkPolicies(t *testing.T) {
	onEachSet(t, func(t *testing.T, r *rendering) {
		if dig(r.values, "networkPolicy", "enabled") == false {
			if len(r.policies) > 0 {
				t.Error("there are policies")
			}
			return
		}
		covered := map[string]int{}
		for _, p := range r.policies {
			of := p.Labels[component]
			pod := r.pods()[of]
			covered[of]++
			if found := r.chosen(selector(t, &p.Spec.PodSelector)); !slices.Equal(found, []string{of}) || len(p.Spec.PolicyTypes) != 2 {
				t.Errorf("policy %s is about pods of %v, by %v", p.Name, found, p.Spec.PolicyTypes)
			}
			var in []int32
			for _, rule := range p.Spec.Ingress {
				for _, p := range rule.Ports {
					in = append(in, p.Port.IntVal)
				}
			}
			var listens []int32
			for _, p := range pod.Spec.Containers[0].Ports {
				listens = append(listens, p.ContainerPort)
			}
			slices.Sort(in)
			slices.Sort(listens)
			if !slices.Equal(in, listens) {
				t.Errorf("policy %s lets in ports %v, the pods listen on %v", p.Name, in, listens)
			}
			r.checkEgress(t, of, p.Spec.Egress)
		}
		for name := range r.pods() {
			if covered[name] != 1 {
				t.Errorf("%d policies for %s", covered[name], name)
			}
		}
		// The doctor runs in a consumer's pod, and sends its canary to the producer.
		public := port(r.pods()["producer"], "http")
		if !r.leaves(t, "consumer", "producer", public) {
			t.Errorf("the consumer's policy does not let it reach the producer at port %d", public)
		}
		if !r.enters(t, "consumer", "producer", public) {
			t.Errorf("the producer's policy does not let the consumer in at port %d", public)
		}
		if open := dig(r.values, "networkPolicy", "producerFrom") == nil; r.enters(t, "reader", "producer", public) != open {
			t.Errorf("open to all is %t, but not for the reader's pods", open)
		}
	})
}

// leaves and enters tell whether a policy lets pods of a component reach those of another in the same namespace, at a port.
func (r *rendering) leaves(t *testing.T, from, to string, at int32) bool {
	t.Helper()
	return slices.ContainsFunc(r.policy(t, from).Egress, func(rule networkingv1.NetworkPolicyEgressRule) bool {
		return r.permits(t, rule.Ports, rule.To, to, at)
	})
}

func (r *rendering) enters(t *testing.T, from, to string, at int32) bool {
	t.Helper()
	return slices.ContainsFunc(r.policy(t, to).Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
		return r.permits(t, rule.Ports, rule.From, from, at)
	})
}

func (r *rendering) policy(t *testing.T, of string) networkingv1.NetworkPolicySpec {
	t.Helper()
	for _, p := range r.policies {
		if p.Labels[component] == of {
			return p.Spec
		}
	}
	t.Fatalf("no policy for %s", of)
	return networkingv1.NetworkPolicySpec{}
}

// permits reads one rule. No peers are all peers; those of another namespace, or by address, are not ours.
func (r *rendering) permits(t *testing.T, ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer, of string, at int32) bool {
	t.Helper()
	if !slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool { return p.Port.IntVal == at }) {
		return false
	}
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.NamespaceSelector == nil && p.PodSelector != nil && slices.Contains(r.chosen(selector(t, p.PodSelector)), of)
	})
}

// jobs are those that the ServiceMonitor makes of the rendered Services, as the operator does, by component.
func (r *rendering) jobs(t *testing.T) map[string]string {
	t.Helper()
	var monitor struct {
		Spec struct {
			JobLabel  string
			Selector  metav1.LabelSelector
			Endpoints []struct{ Port, Path string }
		}
	}
	text, err := yaml.Marshal(r.others["ServiceMonitor"])
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &monitor); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, s := range r.services {
		if !selector(t, &monitor.Spec.Selector).Matches(labels.Set(s.Labels)) {
			continue
		}
		for _, e := range monitor.Spec.Endpoints {
			if e.Path != "/metrics" || !slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == e.Port && isAdmin(p) }) {
				t.Errorf("the ServiceMonitor asks %s for %s at port %s, which is not the operators'", s.Name, e.Path, e.Port)
			}
		}
		of := s.Labels[component]
		if found[of] != "" {
			t.Errorf("metrics of %s are read twice", of)
		}
		found[of] = s.Labels[monitor.Spec.JobLabel]
	}
	return found
}

// Metrics of every process are read once, under the jobs that rules and alerts look for.
func TestJobsAreThoseOfTheRules(t *testing.T) {
	config, err := os.ReadFile("../../monitoring/prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	byComponent := map[string]string{}
	for _, m := range regexp.MustCompile(`job_name: (footfall-(\w+))`).FindAllStringSubmatch(string(config), -1) {
		byComponent[m[2]] = m[1]
	}
	if len(byComponent) != 3 {
		t.Fatalf("jobs of prometheus.yml: %v", byComponent)
	}
	alerts, err := os.ReadFile("../../monitoring/prometheus/rules/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`job=~"([^"]+)"`).FindAllStringSubmatch(string(alerts), -1)
	if len(asked) == 0 {
		t.Fatal("no alert asks for a job")
	}
	monitored := 0
	onEachSet(t, func(t *testing.T, r *rendering) {
		if r.others["ServiceMonitor"] == nil {
			return
		}
		monitored++
		jobs := r.jobs(t)
		for name := range r.deployments {
			if jobs[name] != byComponent[name] {
				t.Errorf("the job of %s is %q, want %q", name, jobs[name], byComponent[name])
			}
			for _, a := range asked {
				if !regexp.MustCompile("^(?:" + a[1] + ")$").MatchString(jobs[name]) {
					t.Errorf("alerts ask for %s, which %s is not", a[1], jobs[name])
				}
			}
		}
		if len(jobs) != len(r.deployments) {
			t.Errorf("jobs: %v", jobs)
		}
	})
	if monitored < 2 {
		t.Errorf("%d value sets have a ServiceMonitor", monitored)
	}
}
