package main

import (
	"log/slog"
	"strings"
	"testing"

	"footfall/configs"
	"footfall/test/harness"
)

// TestRisksAreWarnedOf: a consumer that starts says what is risky about how it reaches Kafka, before it connects.
func TestRisksAreWarnedOf(t *testing.T) {
	f := func(want string, tls configs.TLS) {
		t.Helper()
		cfg, err := configs.LoadConsumer("")
		if err != nil {
			t.Fatal(err)
		}
		cfg.Kafka.Brokers, cfg.Kafka.TLS = []string{"kafka.invalid:9092"}, tls
		cfg.Kafka.SASL = configs.SASL{Mechanism: "plain", Username: "u", Password: "p"}
		log := &harness.Buffer{}
		if err := checkServers(cfg, slog.New(slog.NewJSONHandler(log, nil))); err != nil || !strings.Contains(log.String(), want) || (want == "") != (log.String() == "") {
			t.Errorf("%+v: %v, %s; want %s", tls, err, log, want)
		}
	}
	f("goes to kafka.invalid:9092 in clear", configs.TLS{})
	f("with kafka.tls.insecure anybody", configs.TLS{Enabled: true, Insecure: true})
	f("", configs.TLS{Enabled: true})
}
