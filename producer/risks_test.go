package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"footfall/test/harness"
)

// TestRisksAreWarnedOf: a producer that starts says what is risky about its configuration, and what to do.
func TestRisksAreWarnedOf(t *testing.T) {
	f := func(want string, env ...string) {
		t.Helper()
		log := &harness.Buffer{}
		cmd, _, _ := producer(t, append(env, "FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_ADMIN_ADDR=", "FOOTFALL_KAFKA_BROKERS=kafka.invalid:9092"))
		cmd.Stderr = log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
		harness.Within(t, 30*time.Second, "it warns", func() error {
			if !strings.Contains(log.String(), `"level":"WARN","msg":"`+want) {
				return errors.New(log.String())
			}
			return nil
		})
	}
	f("http.trusted_proxies trusts everybody", "FOOTFALL_HTTP_TRUSTED_PROXIES=0.0.0.0/0")
	plain := []string{"FOOTFALL_KAFKA_SASL_MECHANISM=plain", "FOOTFALL_KAFKA_SASL_USERNAME=u", "FOOTFALL_KAFKA_SASL_PASSWORD=p"}
	f("the password of kafka.sasl goes to kafka.invalid:9092 in clear", plain...)
	f("with kafka.tls.insecure anybody", append(plain, "FOOTFALL_KAFKA_TLS_ENABLED=true", "FOOTFALL_KAFKA_TLS_INSECURE=true")...)
}
