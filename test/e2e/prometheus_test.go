package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"footfall/deployments/monitoring"
	"footfall/deployments/monitoring/packtest"
	"footfall/deployments/stack"
	"footfall/test/e2e/process"
	"footfall/test/harness"
)

// prometheus is a real one on a port of its own.
type prometheus struct{ url string }

// probed marks copies of the alerts that are active whenever their expression has a value.
const probed = "probed"

// startPrometheus starts one that scrapes the targets, by job, every second, and evaluates the rules of the pack and the probes.
func startPrometheus(t *testing.T, binary, dir string, targets map[string]string) *prometheus {
	t.Helper()
	ports, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", ports[0])
	config := "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: ['rules/*.yml']\nscrape_configs:\n"
	for job, at := range targets {
		config += fmt.Sprintf("- {job_name: %s, static_configs: [{targets: ['%s']}]}\n", job, strings.TrimPrefix(at, "http://"))
	}
	files := map[string][]byte{"prometheus.yml": []byte(config), "rules/probes.yml": probes(t)}
	for _, name := range packtest.Files(t, monitoring.Rules) {
		files["rules/"+filepath.Base(name)] = packtest.Read(t, name)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	start(t, process.Command{Name: "prometheus", Path: binary, Dir: dir, Args: []string{
		"--config.file=prometheus.yml", "--storage.tsdb.path=tsdb", "--web.listen-address=" + address}})
	p := &prometheus{url: "http://" + address}
	harness.Within(t, time.Minute, "Prometheus", func() error {
		response, err := http.Get(p.url + "/-/ready")
		if err != nil {
			return err
		}
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK {
			return errors.New(response.Status)
		}
		return nil
	})
	return p
}

func probes(t *testing.T) []byte {
	t.Helper()
	group := packtest.Group{Name: "probes"}
	for _, rule := range packtest.Rules(t) {
		if rule.Alert == "" {
			continue
		}
		rule.Expr, rule.For = packtest.Unfiltered(rule.Expr), ""
		rule.Labels[probed] = "yes"
		group.Rules = append(group.Rules, rule)
	}
	text, err := yaml.Marshal(packtest.Groups{Groups: []packtest.Group{group}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// hasValue returns an error if an expression has no value, or if all are NaN.
func (p *prometheus) hasValue(t *testing.T, expr string) error {
	t.Helper()
	var answer struct {
		Data struct {
			Result []struct {
				Value [2]any `json:"value"`
			} `json:"result"`
		} `json:"data"`
	}
	p.ask(t, "query?query="+url.QueryEscape(expr), &answer)
	for _, sample := range answer.Data.Result {
		if sample.Value[1] != "NaN" {
			return nil
		}
	}
	return fmt.Errorf("%d values, no number: %s", len(answer.Data.Result), expr)
}

// evaluated is a rule as Prometheus tells it.
type evaluated struct {
	Name, Health, LastError string
	Labels                  map[string]string
	Annotations             map[string]string
	Alerts                  []struct {
		State               string
		Labels, Annotations map[string]string
	}
}

func (p *prometheus) rules(t *testing.T) []evaluated {
	t.Helper()
	var answer struct {
		Data struct {
			Groups []struct{ Rules []evaluated }
		}
	}
	p.ask(t, "rules", &answer)
	var out []evaluated
	for _, group := range answer.Data.Groups {
		out = append(out, group.Rules...)
	}
	if want := len(packtest.Rules(t)); len(out) <= want {
		t.Fatalf("Prometheus has %d rules, the pack %d and its probes", len(out), want)
	}
	return out
}

// rulesAreFine returns an error if a rule failed or was never evaluated, or if an alert is active.
func (p *prometheus) rulesAreFine(t *testing.T) error {
	t.Helper()
	var errs []error
	for _, rule := range p.rules(t) {
		if rule.Health != "ok" {
			errs = append(errs, fmt.Errorf("%s: %s: %s", rule.Name, rule.Health, rule.LastError))
		}
		if len(rule.Alerts) > 0 && rule.Labels[probed] == "" {
			errs = append(errs, fmt.Errorf("%s is %s: %v", rule.Name, rule.Alerts[0].State, rule.Alerts[0].Annotations))
		}
	}
	return errors.Join(errs...)
}

var labelUsed = regexp.MustCompile(`\$labels\.(\w+)`)

// textsAreWhole returns nil if the texts of every alert, filled in from real series, lack nothing. An alert has its series once its rule was
// evaluated.
func (p *prometheus) textsAreWhole(t *testing.T) error {
	t.Helper()
	var errs []error
	seen := 0
	for _, rule := range p.rules(t) {
		if rule.Labels[probed] == "" {
			continue
		}
		if seen++; len(rule.Alerts) == 0 {
			errs = append(errs, fmt.Errorf("the expression of %s has no value", rule.Name))
		}
		for _, alert := range rule.Alerts {
			for name, text := range rule.Annotations {
				for _, used := range labelUsed.FindAllStringSubmatch(text, -1) {
					if alert.Labels[used[1]] == "" {
						errs = append(errs, fmt.Errorf("%s names the label %s, which its series %v do not have", rule.Name, used[1], alert.Labels))
					}
				}
				if got := alert.Annotations[name]; got == "" || strings.Contains(got, "{{") || strings.Contains(got, "<no value>") || strings.Contains(got, "<error") {
					errs = append(errs, fmt.Errorf("%s: %s is %q", rule.Name, name, got))
				}
			}
		}
	}
	if seen < 20 {
		errs = append(errs, fmt.Errorf("%d alerts were probed only", seen))
	}
	return errors.Join(errs...)
}

func (p *prometheus) ask(t *testing.T, what string, answer any) {
	t.Helper()
	status, text := harness.Get(t, p.url+"/api/v1/"+what)
	if err := json.Unmarshal([]byte(text), answer); err != nil || status != http.StatusOK {
		t.Fatalf("Prometheus answers %s with %d %s: %v", what, status, text, err)
	}
}
