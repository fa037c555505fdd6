package health

import (
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"footfall/internal/build"
)

// NewRegistry makes a registry with what every process tells of itself: the Go runtime, the process, and which build of which component it is.
func NewRegistry(component string) *prometheus.Registry {
	info := build.Info()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "footfall_build_info", Help: "Always 1. The labels say what runs: the component, its version (as --version says), and Go's.",
		ConstLabels: prometheus.Labels{
			"component": component, "version": build.Version(info), "goversion": info.GoVersion,
		},
	})
	build.Set(1)
	reg := prometheus.NewRegistry()
	reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build)
	return reg
}

// profilesPath is where Go's tools look for profiles.
const profilesPath = "/debug/pprof/"

// WithProfiles answers requests for profiles if on (http.pprof), and leaves all others to next. It is for operators' listeners alone: profiles
// cost time, and tell about the inside of the process.
func WithProfiles(on bool, next http.Handler) http.Handler {
	if !on {
		return next
	}
	mux := http.NewServeMux() // not the default one, where net/http/pprof has put them: others may serve that
	mux.HandleFunc(profilesPath, pprof.Index)
	for name, h := range map[string]http.HandlerFunc{
		"cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace,
	} {
		mux.HandleFunc(profilesPath+name, h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, profilesPath) {
			mux.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
