// Package deployments_test checks the deployment files and what they refer to: no compiler does.
package deployments_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"go.yaml.in/yaml/v3"

	"footfall/configs"
	"footfall/deployments/stack"
)

// load parses docker-compose.yml as docker compose does, but with an empty environment and all profiles.
func load(t *testing.T) *types.Project {
	t.Helper()
	return loadWith(t, "*")
}

func loadWith(t *testing.T, profiles ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{"../docker-compose.yml"}, cli.WithResolvedPaths(true), cli.WithProfiles(profiles))
	if err != nil {
		t.Fatal(err)
	}
	project, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// oneShot are the services that end by themselves.
var oneShot = []string{"migrate"}

func TestComposeHasTheServices(t *testing.T) {
	product := []string{"cassandra", "consumer", "kafka", "migrate", "producer", "reader"}
	if got := slices.Sorted(maps.Keys(loadWith(t).Services)); !slices.Equal(got, product) {
		t.Errorf("%v, want %v", got, product)
	}
	all := slices.Sorted(slices.Values(append(product, "alertmanager", "grafana", "prometheus")))
	if got := slices.Sorted(maps.Keys(loadWith(t, "monitoring").Services)); !slices.Equal(got, all) {
		t.Errorf("with monitoring %v, want %v", got, all)
	}
}

func TestImagesArePinned(t *testing.T) {
	f := func(where, image string) {
		t.Helper()
		if image == "scratch" {
			return
		}
		_, tag, ok := strings.Cut(filepath.Base(image), ":")
		if !ok || tag == "" || tag == "latest" {
			t.Errorf("%s: image %q has no fixed tag", where, image)
		}
	}
	for name, s := range load(t).Services {
		f(name, s.Image)
	}
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(read(t, "images/Dockerfile"), -1) {
		f("Dockerfile", m[1])
	}
}

// Prometheus finds the services by their names, on the ports where they answer operators; others find Prometheus.
func TestPrometheusScrapesTheServices(t *testing.T) {
	var config struct {
		Scrapes []struct {
			Job string `yaml:"job_name"`
			DNS []struct {
				Names []string
				Port  int
			} `yaml:"dns_sd_configs"`
		} `yaml:"scrape_configs"`
		Alerting struct {
			Alertmanagers []struct {
				Static []struct{ Targets []string } `yaml:"static_configs"`
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "monitoring/prometheus/prometheus.yml")), &config); err != nil {
		t.Fatal(err)
	}
	services, scraped := load(t).Services, map[string]bool{}
	for _, s := range config.Scrapes {
		name := s.DNS[0].Names[0]
		scraped[name] = true
		if s.Job != "footfall-"+name || !slices.Equal(services[name].Expose, []string{strconv.Itoa(s.DNS[0].Port)}) {
			t.Errorf("job %s scrapes port %d of %s, which exposes %v", s.Job, s.DNS[0].Port, name, services[name].Expose)
		}
	}
	if len(scraped) != 3 {
		t.Errorf("scraped are %v", scraped)
	}
	f := func(address, service string) {
		t.Helper()
		if ports := services[service].Ports; len(ports) != 1 || address != fmt.Sprintf("%s:%d", service, ports[0].Target) {
			t.Errorf("%s is asked at %s, and has %v", service, address, ports)
		}
	}
	f(config.Alerting.Alertmanagers[0].Static[0].Targets[0], "alertmanager")
	var sources struct{ Datasources []struct{ URL string } }
	if err := yaml.Unmarshal([]byte(read(t, "monitoring/grafana/provisioning/datasources/prometheus.yml")), &sources); err != nil {
		t.Fatal(err)
	}
	f(strings.TrimPrefix(sources.Datasources[0].URL, "http://"), "prometheus")
}

// Grafana looks for dashboards where the compose file puts them.
func TestGrafanaFindsTheDashboard(t *testing.T) {
	grafana := load(t).Services["grafana"]
	at := map[string]string{} // by path in the container
	for _, v := range grafana.Volumes {
		at[v.Target] = v.Source
	}
	var providers struct {
		Providers []struct{ Options struct{ Path string } }
	}
	if err := yaml.Unmarshal([]byte(read(t, "monitoring/grafana/provisioning/dashboards/footfall.yml")), &providers); err != nil {
		t.Fatal(err)
	}
	folder := providers.Providers[0].Options.Path
	mustExist(t, "grafana", filepath.Join(at[folder], "footfall.json"))
	home := *grafana.Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	mustExist(t, "grafana", filepath.Join(at[filepath.Dir(home)], filepath.Base(home)))
	mustExist(t, "grafana", filepath.Join(at["/etc/grafana/provisioning"], "dashboards", "footfall.yml"))
}

// The stack with containers has the same versions as the launcher.
func TestComposeHasTheLaunchersVersions(t *testing.T) {
	services := load(t).Services
	for name, want := range map[string]string{
		"kafka": "apache/kafka:" + stack.KafkaVersion, "cassandra": "cassandra:" + stack.CassandraVersion} {
		if got := services[name].Image; got != want {
			t.Errorf("%s: image %s, the launcher has %s", name, got, want)
		}
	}
}

func TestFilesThatComposeNamesExist(t *testing.T) {
	project := load(t)
	for name, s := range project.Services {
		for _, v := range s.Volumes {
			switch v.Type {
			case types.VolumeTypeVolume:
				if _, ok := project.Volumes[v.Source]; !ok {
					t.Errorf("%s: volume %s is not declared", name, v.Source)
				}
			case types.VolumeTypeBind:
				mustExist(t, name, v.Source)
			}
		}
		if s.Build == nil {
			continue
		}
		file := s.Build.Dockerfile
		if !filepath.IsAbs(file) {
			file = filepath.Join(s.Build.Context, file)
		}
		mustExist(t, name, file)
		if b, err := os.ReadFile(file); err != nil || !strings.Contains(string(b), " AS "+s.Build.Target+"\n") {
			t.Errorf("%s: no stage %q in %s (%v)", name, s.Build.Target, file, err)
		}
	}
}

func mustExist(t *testing.T, service, path string) {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Errorf("%s: %v", service, err)
	}
}

// Every FOOTFALL_ variable is a configuration key. A misspelt one would be ignored, or keep a container from starting.
func TestComposeSetsKnownConfigurationKeys(t *testing.T) {
	count := 0
	for name, s := range load(t).Services {
		for key := range s.Environment {
			if !strings.HasPrefix(key, "FOOTFALL_") {
				continue
			}
			count++
			if !configs.Known(key) {
				t.Errorf("%s: no configuration key is called %s", name, key)
			}
		}
	}
	if count == 0 {
		t.Error("no FOOTFALL_ variable found: the test looks in the wrong place")
	}
}

// By default both listen on loopback, where nobody outside the container reaches them.
func TestServicesListenWhereTheyArePublished(t *testing.T) {
	configured := map[string]func() (addr, admin string, err error){
		"producer": func() (string, string, error) {
			c, err := configs.LoadProducer("")
			return c.HTTP.Addr, c.HTTP.AdminAddr, err
		},
		"reader": func() (string, string, error) {
			c, err := configs.LoadReader("")
			return c.HTTP.Addr, c.HTTP.AdminAddr, err
		},
	}
	for name, read := range configured {
		t.Run(name, func(t *testing.T) {
			s := load(t).Services[name]
			for key, value := range s.Environment {
				t.Setenv(key, *value)
			}
			addr, admin, err := read()
			if err != nil || len(s.Ports) != 1 || addr != fmt.Sprintf("0.0.0.0:%d", s.Ports[0].Target) || s.Ports[0].Published != fmt.Sprint(s.Ports[0].Target) {
				t.Errorf("listens on %s, published as %v: %v", addr, s.Ports, err)
			}
			if len(s.Expose) != 1 || admin != "0.0.0.0:"+s.Expose[0] {
				t.Errorf("operators are answered on %s, exposed as %v", admin, s.Expose)
			}
		})
	}
}

func TestConsumersCanBeScaled(t *testing.T) {
	s := load(t).Services["consumer"]
	if s.ContainerName != "" || len(s.Ports) > 0 {
		t.Errorf("container_name %q and ports %v allow one replica only", s.ContainerName, s.Ports)
	}
}

func TestPortsArePublishedOnLoopbackOnly(t *testing.T) {
	for name, s := range load(t).Services {
		for _, p := range s.Ports {
			if p.HostIP != "127.0.0.1" {
				t.Errorf("%s: port %s is published on %q, want 127.0.0.1", name, p.Published, p.HostIP)
			}
		}
	}
}

func TestServicesHaveHealthChecksAndRestart(t *testing.T) {
	project := load(t)
	for name, s := range project.Services {
		if s.StopGracePeriod == nil {
			t.Errorf("%s: no stop_grace_period; ten seconds may cut a flush short", name)
		}
		if slices.Contains(oneShot, name) {
			continue
		}
		if s.HealthCheck == nil || s.HealthCheck.Disable || len(s.HealthCheck.Test) == 0 {
			t.Errorf("%s: no health check", name)
		}
		if s.Restart == "" || s.Restart == types.RestartPolicyNo {
			t.Errorf("%s: not restarted after a crash", name)
		}
	}
	for name, s := range project.Services {
		for on, d := range s.DependsOn {
			want := types.ServiceConditionHealthy
			if slices.Contains(oneShot, on) {
				want = types.ServiceConditionCompletedSuccessfully
			}
			if d.Condition != want {
				t.Errorf("%s waits for %s with %s, want %s", name, on, d.Condition, want)
			}
		}
	}
}

// The images have no shell: a health check has to run the image's binary.
func TestHealthChecksCanRun(t *testing.T) {
	for _, name := range []string{"producer", "consumer", "reader"} {
		s := load(t).Services[name]
		if want := []string{"CMD", "/" + s.Build.Target, "healthz"}; s.HealthCheck == nil || !slices.Equal(s.HealthCheck.Test, want) {
			t.Errorf("%s: health check %v, want %v", name, s.HealthCheck, want)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
