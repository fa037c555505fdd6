// Package monitoring is the monitoring pack: rules and alerts for Prometheus (prometheus/rules), routes for Alertmanager, and a dashboard
// for Grafana. docker compose --profile monitoring runs all three.
//
// The dashboard is made here: the files rows_*.go have its panels, dashboard.go lays them out. Its JSON is committed, and
// go run ./deployments/monitoring/generate writes it again. Rules are written by hand, with unit tests for promtool in prometheus/tests.
package monitoring

import "embed"

// Files has the rules, their unit tests and the dashboard.
//
//go:embed prometheus grafana/dashboards
var Files embed.FS

// Paths in Files, and below this folder.
const (
	Rules         = "prometheus/rules"
	RuleTests     = "prometheus/tests"
	DashboardFile = "grafana/dashboards/footfall.json"
)
