package dial_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"footfall/configs"
	"footfall/internal/kafka/dial"
	"footfall/internal/kafka/dial/dialtest"
	"footfall/internal/kafka/topics"
)

// Every kind of client gets through to a broker that requires TLS and a login, with every mechanism.
func TestTLSAndLogin(t *testing.T) {
	files := dialtest.NewFiles(t)
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			brokers := secureBroker(t, files, mechanism)
			login := configs.SASL{Mechanism: strings.ToLower(mechanism), Username: "producer", Password: "secret"}
			via, err := dial.New(configs.KafkaClient{Brokers: brokers, TLS: configs.TLS{Enabled: true, CA: files.CA}, SASL: login})
			if err != nil {
				t.Fatal(err)
			}
			if err := topics.Ensure(t.Context(), via, []string{"a"}, 1, 1, true); err != nil {
				t.Fatal(err)
			}
			write(t, via)
			readAlone(t, via)
			readInGroup(t, via)
			if _, err := via.Client(10*time.Second).ListOffsets(t.Context(), &kafka.ListOffsetsRequest{
				Topics: map[string][]kafka.OffsetRequest{"a": {kafka.LastOffsetOf(0)}}}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPasswordInClearIsARisk(t *testing.T) {
	f := func(broker, mechanism string, tls configs.TLS, want string) {
		t.Helper()
		via, err := dial.New(configs.KafkaClient{Brokers: []string{broker}, TLS: tls,
			SASL: configs.SASL{Mechanism: mechanism, Username: "u", Password: "p"}})
		if err != nil || !strings.Contains(via.Risk(), want) || (want == "") != (via.Risk() == "") {
			t.Errorf("%s, %s, %+v: %q, %v; want %s", broker, mechanism, tls, via.Risk(), err, want)
		}
	}
	plain, checked, insecure := configs.TLS{}, configs.TLS{Enabled: true}, configs.TLS{Enabled: true, Insecure: true}
	f("kafka.example:9092", "plain", plain, "in clear")
	f("10.0.0.1:9092", "plain", plain, "in clear")
	f("kafka.example:9092", "plain", checked, "")
	f("kafka.example:9092", "scram-sha-256", plain, "")
	f("kafka.example:9092", "plain", insecure, "kafka.tls.insecure")
	f("kafka.example:9092", "scram-sha-256", insecure, "kafka.tls.insecure")
	f("127.0.0.1:9092", "plain", plain, "")
	f("localhost:9092", "plain", insecure, "")
}

// Without the right certificate, user or password no client gets through.
func TestWrongTLSOrLoginIsRefused(t *testing.T) {
	files := dialtest.NewFiles(t)
	brokers := secureBroker(t, files, "PLAIN")
	right, login := configs.TLS{Enabled: true, CA: files.CA}, configs.SASL{Mechanism: "plain", Username: "producer", Password: "secret"}
	wrong := login
	wrong.Password = "guess"
	for name, papers := range map[string]struct {
		tls  configs.TLS
		sasl configs.SASL
	}{
		"no TLS":            {sasl: login},
		"no login":          {tls: right},
		"wrong password":    {right, wrong},
		"unknown authority": {configs.TLS{Enabled: true}, login},
		"other authority":   {configs.TLS{Enabled: true, CA: dialtest.NewFiles(t).CA}, login},
	} {
		t.Run(name, func(t *testing.T) {
			via, err := dial.New(configs.KafkaClient{Brokers: brokers, TLS: papers.tls, SASL: papers.sasl})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := topics.Check(ctx, via, []string{"a"}); err == nil {
				t.Error("the transport connected")
			}
			if conn, err := via.Dialer().DialContext(ctx, "tcp", brokers[0]); err == nil {
				if _, err := conn.ReadPartitions("a"); err == nil {
					t.Error("the dialer connected")
				}
				_ = conn.Close()
			}
		})
	}
}

func secureBroker(t *testing.T, files dialtest.Files, mechanism string) []string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.TLS(files.Server), kfake.EnableSASL(), kfake.Superuser(mechanism, "producer", "secret"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster.ListenAddrs()
}

func write(t *testing.T, via dial.Kafka) {
	t.Helper()
	w := &kafka.Writer{Addr: via.Addr(), Transport: via.Transport(), Topic: "a", RequiredAcks: kafka.RequireAll, BatchTimeout: time.Millisecond}
	if err := w.WriteMessages(t.Context(), kafka.Message{Value: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func readAlone(t *testing.T, via dial.Kafka) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r := kafka.NewReader(kafka.ReaderConfig{Brokers: via.Brokers, Dialer: via.Dialer(), Topic: "a", MaxWait: 50 * time.Millisecond})
	defer func() { _ = r.Close() }()
	if m, err := r.ReadMessage(ctx); err != nil || string(m.Value) != "x" {
		t.Fatalf("%q, %v", m.Value, err)
	}
}

func readInGroup(t *testing.T, via dial.Kafka) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: "g", Brokers: via.Brokers, Dialer: via.Dialer(), Topics: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = group.Close() }()
	if _, err := group.Next(ctx); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsNameTheConfigurationKey(t *testing.T) {
	files := dialtest.NewFiles(t)
	f := func(want string, tls configs.TLS, sasl configs.SASL) {
		t.Helper()
		if _, err := dial.New(configs.KafkaClient{TLS: tls, SASL: sasl}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("nothing would be encrypted", configs.TLS{CA: files.CA}, configs.SASL{})
	f("none.pem", configs.TLS{Enabled: true, CA: t.TempDir() + "/none.pem"}, configs.SASL{})
	f("no certificate in PEM", configs.TLS{Enabled: true, CA: files.Key}, configs.SASL{})
	f("set both or none", configs.TLS{Enabled: true, Cert: files.Cert}, configs.SASL{})
	f("cert and key", configs.TLS{Enabled: true, Cert: files.Key, Key: files.Cert}, configs.SASL{})
	f("no mechanism", configs.TLS{}, configs.SASL{Username: "x"})
	f("no username", configs.TLS{}, configs.SASL{Mechanism: "plain"})
	f("scram-sha-512", configs.TLS{}, configs.SASL{Mechanism: "kerberos", Username: "x"})
	if _, err := dial.New(configs.KafkaClient{TLS: configs.TLS{Enabled: true, Cert: files.Cert, Key: files.Key}}); err != nil {
		t.Error(err)
	}
}
