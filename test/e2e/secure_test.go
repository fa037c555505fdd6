package e2e

import (
	"crypto/pbkdf2"
	"crypto/sha512"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocql/gocql"
	"github.com/segmentio/kafka-go"

	"footfall/deployments/stack"
	"footfall/deployments/stack/stacktest"
	"footfall/internal/kafka/dial/dialtest"
	"footfall/test/e2e/load"
	"footfall/test/e2e/process"
)

const login, password = "footfall", "correct-horse"

// TestServersWithTLSAndLogins: Kafka and Cassandra accept TLS only, require a client certificate and a login, and grant a role the
// documented permissions only. The producer, a consumer and the audit connect with configuration alone. With a wrong password or another
// certificate authority they end at once, with an error that says so.
func TestServersWithTLSAndLogins(t *testing.T) {
	t.Parallel()
	files := dialtest.NewFiles(t)
	kafkaServer, node := secureServers(t, files)
	cluster := gocql.NewCluster(node.Address)
	cluster.Port = node.Port
	client, err := node.Secure.Client()
	if err != nil {
		t.Fatal(err)
	}
	cluster.SslOpts = &gocql.SslOptions{Config: client, EnableHostVerification: true}
	cluster.Authenticator = gocql.PasswordAuthenticator{Username: "cassandra", Password: "cassandra"}
	makeUser(t, kafkaServer)
	makeRole(t, cluster)

	d := prepare(t, byDefault, kafkaServer.Addr(), cluster,
		fmt.Sprintf("FOOTFALL_KAFKA_BROKERS=127.0.0.1:%d", kafkaServer.Secure.Port),
		"FOOTFALL_KAFKA_TLS_ENABLED=true", "FOOTFALL_KAFKA_TLS_CA="+files.CA, "FOOTFALL_KAFKA_TLS_CERT="+files.Cert, "FOOTFALL_KAFKA_TLS_KEY="+files.Key,
		"FOOTFALL_KAFKA_SASL_MECHANISM=scram-sha-512", "FOOTFALL_KAFKA_SASL_USERNAME="+login, "FOOTFALL_KAFKA_SASL_PASSWORD="+password,
		"FOOTFALL_CASSANDRA_TLS_ENABLED=true", "FOOTFALL_CASSANDRA_TLS_CA="+files.CA, "FOOTFALL_CASSANDRA_TLS_CERT="+files.Cert, "FOOTFALL_CASSANDRA_TLS_KEY="+files.Key,
		"FOOTFALL_CASSANDRA_USERNAME="+login, "FOOTFALL_CASSANDRA_PASSWORD="+password,
		"FOOTFALL_CASSANDRA_REQUIRE_DURABLE=true", "FOOTFALL_LINKS_ENABLED=true")
	d.open(t, 1, "FOOTFALL_KAFKA_SASL_MECHANISM=plain") // the producer; the consumer uses SCRAM
	d.strangers(t, dialtest.NewFiles(t).CA)

	const n = 1000
	events := append(load.Make(31, n), zombieClicks()...)
	want, _ := send(t, d, events, load.Order(31, len(events)), nil)
	d.settle(t, want)
	equal(t, want.Cells(), d.dump(t))
	d.zombie(t)
	d.audit(t, true, "1 off, 1 repaired", "--repair") // it reads the log again
	equal(t, want.Cells(), d.dump(t))

	response, err := http.Post(d.url+"/v1/links", "application/json", strings.NewReader(`{"short_url":"abc","long_url":"https://example.org/"}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusCreated {
		t.Errorf("making a link: %s, %v", response.Status, err)
	}

	x := doctors{real: d, t: t}
	x.counted()
	x.expect("fault kafka: Kafka at 127.0.0.1:"+strconv.Itoa(kafkaServer.Secure.Port)+" refuses the login", "FOOTFALL_KAFKA_SASL_PASSWORD=guess")
	x.expect("fault cassandra: Cassandra refuses the login", "FOOTFALL_CASSANDRA_PASSWORD=guess")
	x.expect("fault cassandra: Cassandra cannot be spoken to by TLS", "FOOTFALL_CASSANDRA_TLS_CA="+dialtest.NewFiles(t).CA)
}

// secureServers starts both at once.
func secureServers(t *testing.T, files dialtest.Files) (*stack.Kafka, *stack.Cassandra) {
	t.Helper()
	ports, err := stack.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	var k *stack.Kafka
	var c []*stack.Cassandra
	var both sync.WaitGroup
	both.Go(func() {
		k = stacktest.Kafka(t, func(k *stack.Kafka) {
			k.Secure = &stack.Secure{Port: ports[0], CA: files.CA, Cert: files.Cert, Key: files.Key, Username: login, Password: password}
		})
	})
	both.Go(func() {
		c = stacktest.Cassandra(t, 1, func(c *stack.Cassandra) {
			c.Secure = &stack.Secure{CA: files.CA, Cert: files.Cert, Key: files.Key, Username: "cassandra", Password: "cassandra"}
		})
	})
	both.Wait()
	if t.Skipped() { // called in another goroutine, which does not end the test
		t.SkipNow()
	}
	if k == nil || c == nil {
		t.FailNow()
	}
	return k, c[0]
}

// makeUser creates the user for SCRAM logins.
func makeUser(t *testing.T, k *stack.Kafka) {
	t.Helper()
	const iterations = 4096
	salt := []byte("not so random")
	salted, err := pbkdf2.Key(sha512.New, password, salt, iterations, sha512.Size)
	if err != nil {
		t.Fatal(err)
	}
	client := &kafka.Client{Addr: kafka.TCP(k.Addr()), Timeout: 10 * time.Second, Transport: &kafka.Transport{}}
	answer, err := client.AlterUserScramCredentials(t.Context(), &kafka.AlterUserScramCredentialsRequest{
		Upsertions: []kafka.UserScramCredentialsUpsertion{{
			Name: login, Mechanism: kafka.ScramMechanismSha512, Iterations: iterations, Salt: salt, SaltedPassword: salted,
		}},
	})
	if err == nil && len(answer.Results) == 1 {
		err = answer.Results[0].Error
	}
	if err != nil {
		t.Fatal(err)
	}
}

// makeRole creates a role with the permissions that docs/operations.md names.
func makeRole(t *testing.T, cluster *gocql.ClusterConfig) {
	t.Helper()
	cluster.ProtoVersion = 4
	session, err := cluster.CreateSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	for _, cql := range []string{
		"CREATE ROLE " + login + " WITH PASSWORD = '" + password + "' AND LOGIN = true",
		"GRANT CREATE ON ALL KEYSPACES TO " + login,
		"GRANT SELECT ON system_views.settings TO " + login,
		"CREATE ROLE guest WITH PASSWORD = '" + password + "' AND LOGIN = true", // who may do nothing
	} {
		if err := session.Query(cql).Exec(); err != nil {
			t.Fatal(err)
		}
	}
}

// strangers starts processes that have one setting wrong each. Each must end with an error that says which.
func (d *real) strangers(t *testing.T, otherCA string) {
	t.Helper()
	ends := map[string]string{"producer": `"msg":"the producer ends"`, "consumer": "consumer: ", "reader": `"msg":"the reader ends"`}
	var all sync.WaitGroup
	defer all.Wait()
	for i, s := range []struct{ binary, wrong, want string }{
		{"producer", "FOOTFALL_KAFKA_SASL_PASSWORD=guess", "SASL Authentication Failed"},
		{"producer", "FOOTFALL_KAFKA_TLS_CA=" + otherCA, "certificate signed by unknown authority"},
		{"producer", "FOOTFALL_CASSANDRA_PASSWORD=guess", "Provided username footfall and/or password are incorrect"},
		{"producer", "FOOTFALL_CASSANDRA_TLS_CA=" + otherCA, "certificate signed by unknown authority"},
		{"consumer", "FOOTFALL_KAFKA_SASL_PASSWORD=guess", "SASL Authentication Failed"},
		{"consumer", "FOOTFALL_KAFKA_TLS_CA=" + otherCA, "certificate signed by unknown authority"},
		{"consumer", "FOOTFALL_CASSANDRA_PASSWORD=guess", "Provided username footfall and/or password are incorrect"},
		{"consumer", "FOOTFALL_CASSANDRA_TLS_CA=" + otherCA, "certificate signed by unknown authority"},
		{"consumer", "FOOTFALL_CASSANDRA_USERNAME=guest", "User guest has no SELECT permission"},
		{"producer", "FOOTFALL_CASSANDRA_USERNAME=guest", "User guest has no SELECT permission"},
		{"reader", "FOOTFALL_CASSANDRA_USERNAME=guest", "User guest has no SELECT permission"},
		{"reader", "FOOTFALL_CASSANDRA_PASSWORD=guess", "Provided username footfall and/or password are incorrect"},
	} {
		all.Go(func() {
			began := time.Now()
			printed, err := process.Run(patiently(t), process.Command{
				Name: fmt.Sprint("stranger", i), Path: binaries.Path(t, s.binary), Env: append(d.env[:len(d.env):len(d.env)], s.wrong), Dir: d.dir,
			})
			took := time.Since(began).Round(100 * time.Millisecond)
			line := strings.TrimSpace(printed[strings.LastIndex(strings.TrimSpace(printed), "\n")+1:])
			t.Logf("%s with %s: %s: %s", s.binary, s.wrong, took, line)
			if err == nil || took > 20*time.Second || !strings.Contains(line, ends[s.binary]) || !strings.Contains(line, s.want) {
				t.Errorf("%s with %s: %v after %s, want an error with %q", s.binary, s.wrong, err, took, s.want)
			}
		})
	}
}
