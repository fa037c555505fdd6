package web

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"

	"footfall/configs"
	"footfall/reader/access"
)

// ConfigOf is the Config that a configuration asks for. Errors are *configs.Wrong.
func ConfigOf(cfg configs.Reader, reg prometheus.Registerer, log *slog.Logger) (Config, error) {
	who, err := access.New(cfg.Access)
	if err == nil {
		err = checkOrigins(cfg.HTTP.Origins)
	}
	if err != nil {
		return Config{}, configs.MarkWrong(err)
	}
	pair, err := cfg.HTTP.TLS.KeyPair()
	if err != nil {
		return Config{}, err
	}
	return Config{
		Access: who, MaxInFlight: cfg.HTTP.MaxInFlight, Timeout: cfg.HTTP.Timeout, StreamTimeout: cfg.HTTP.StreamTimeout,
		Points: cfg.Limits.Points, Origins: cfg.HTTP.Origins, Hosts: cfg.HTTP.Hosts, TLS: pair, WriteKey: true, Metrics: reg, Log: log,
	}, nil
}
