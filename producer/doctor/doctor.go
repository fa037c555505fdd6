// Package doctor examines a producer from beside it: its configuration and keys, Kafka as the producer needs it, the store of links, and
// whether the running process answers. It changes nothing.
package doctor

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"footfall/configs"
	"footfall/internal/doctor"
	"footfall/internal/doctor/kafkachecks"
	"footfall/internal/health"
	"footfall/internal/kafka/dial"
	"footfall/producer/intake"
	"footfall/producer/links/cassandra"
)

// Names of checks that are said twice.
const (
	checkConfiguration = "configuration"
	checkListener      = "listener"
)

type patient struct {
	configs.Producer
	now   time.Time
	kafka kafkachecks.Cluster
}

// Examine runs all checks of a producer with this configuration.
func Examine(ctx context.Context, cfg configs.Producer) doctor.Report {
	t := cfg.Kafka.Topics
	p := &patient{Producer: cfg, now: time.Now(), kafka: kafkachecks.Cluster{Bases: []string{t.Clicks, t.Visits}, Others: []string{t.Dead}}}
	via, err := dial.New(cfg.Kafka.KafkaClient)
	if err == nil {
		err = intake.Check(cfg)
	}
	if err != nil { // nothing else can be asked
		return doctor.Examine(ctx, "producer", []doctor.Check{{Name: checkConfiguration, Run: func(context.Context) doctor.Findings {
			return doctor.FromError(err, "mend the configuration: configs/producer.yaml describes every key")
		}}})
	}
	p.kafka.Via = via
	checks := append([]doctor.Check{
		{Name: checkConfiguration, Run: func(context.Context) doctor.Findings {
			return doctor.Fine("a producer can start with it")
		}},
		{Name: "keys", Run: func(context.Context) doctor.Findings { return judgeKeys(cfg.Access) }},
	}, p.kafka.Checks()...)
	return doctor.Examine(ctx, "producer", append(checks,
		doctor.Check{Name: "links", Within: 7 * time.Second, Run: p.links},
		doctor.Check{Name: checkListener, Run: p.listener},
		doctor.Check{Name: "certificate", Needs: []string{checkListener}, Run: p.certificate},
		doctor.Check{Name: "ready", Run: p.ready},
	))
}

// examples are keys that documents and habits use. Whoever tries keys begins with them.
var examples = []string{"", "KEY", "key", "test", "secret", "password", "changeme"}

// judgeKeys judges who may write.
func judgeKeys(access configs.Access) (findings doctor.Findings) {
	if access.Open {
		return doctor.Doubtful("set access.open: false, and list keys in access.sites, unless only those whom you trust reach this address", "anyone who reaches the producer may write (access.open)")
	}
	if len(access.Sites) == 0 {
		return doctor.Faulty("list keys in access.sites, or set access.open: true where only those whom you trust reach the producer", "nobody may write: access.open is false, and access.sites is empty")
	}
	owner := map[string]string{}
	for _, site := range access.Sites {
		name := strings.TrimSpace(site.Site + " " + site.Links)
		for _, hash := range site.KeyHashes {
			hash = strings.ToLower(hash)
			for _, example := range examples {
				if sum := sha256.Sum256([]byte(example)); hex.EncodeToString(sum[:]) == hash {
					findings.Add(doctor.Faulty("make a key with `openssl rand -hex 32`, and replace it in access.sites", "the key of %s is %q, which anybody can guess", name, example))
				}
			}
			if site.CreateLinks && len(site.Origins) > 0 {
				findings.Add(doctor.Doubtful("give pages a key of an entry without create_links", "the key of %s is on pages, and may create links: everybody who reads the page can", name))
			}
			if other, twice := owner[hash]; twice && other != name {
				findings.Add(doctor.Doubtful("give each a key of its own, unless that is meant", "%s and %s have the same key", other, name))
			}
			owner[hash] = name
		}
	}
	return findings.OrFine("%d keys may write", len(owner))
}

func (p *patient) links(ctx context.Context) doctor.Findings {
	if !p.Links.Enabled {
		return doctor.Fine("links are not enabled")
	}
	store, err := cassandra.Open(ctx, p.Cassandra)
	if err != nil {
		return doctor.FromError(err, "start Cassandra, or mend cassandra.hosts, cassandra.port and cassandra.username; events are taken without it, links are not")
	}
	store.Close()
	return doctor.Fine("the store of links answers")
}

// listener asks the public address for /healthz.
func (p *patient) listener(ctx context.Context) doctor.Findings {
	if _, err := p.ask(ctx); err != nil {
		return doctor.Faulty("start the producer; if it runs, set http.addr to the address that it listens on", "the producer does not answer at http.addr: %v", err)
	}
	return doctor.Fine("the producer answers at %s", p.HTTP.Addr)
}

// ask asks for /healthz, and returns how the connection was encrypted; nil if it was not.
func (p *patient) ask(ctx context.Context) (*tls.ConnectionState, error) {
	target, err := health.Reachable("http.addr", p.HTTP.Addr)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.HTTP.TLS.URL(target)+"/healthz", nil)
	if err != nil {
		return nil, err
	}
	// It asks by an address that the certificate need not name. Which certificate it is, the next check looks at.
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // nothing secret is sent or believed
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return nil, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<10)) // its text does not matter
	if err := response.Body.Close(); err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s says %s", target, response.Status)
	}
	return response.TLS, nil
}

// certificate compares the certificate that the producer shows with the file.
func (p *patient) certificate(ctx context.Context) doctor.Findings {
	if p.HTTP.TLS.Cert == "" {
		return doctor.Fine("plain HTTP: no certificate is configured")
	}
	shown, err := p.ask(ctx)
	if err != nil || shown == nil || len(shown.PeerCertificates) == 0 {
		return doctor.Faulty("restart the producer", "the producer shows no certificate: %v", err)
	}
	pair, err := configs.LoadKeyPair(p.HTTP.TLS.Cert, p.HTTP.TLS.Key)
	if err != nil {
		return doctor.FromError(err, "mend http.tls.cert and http.tls.key")
	}
	file, err := x509.ParseCertificate(pair.Current().Certificate[0])
	if err != nil {
		return doctor.FromError(err, "mend http.tls.cert")
	}
	return judgeCertificate(shown.PeerCertificates[0], file, p.now)
}

// renewal is how long before its end a certificate should have been renewed.
const renewal = 14 * 24 * time.Hour

func judgeCertificate(shown, file *x509.Certificate, now time.Time) doctor.Findings {
	switch {
	case now.After(shown.NotAfter):
		return doctor.Faulty("renew http.tls.cert: the producer reads it within a second", "the certificate has expired, on %s", shown.NotAfter.UTC().Format(time.DateOnly))
	case now.Before(shown.NotBefore):
		return doctor.Faulty("look at the clocks, or use another certificate", "the certificate is valid from %s on", shown.NotBefore.UTC().Format(time.DateOnly))
	case !shown.Equal(file):
		return doctor.Doubtful("look at the producer's log: it keeps the certificate of before if it cannot use the files", "the producer shows another certificate than http.tls.cert has")
	case now.Add(renewal).After(shown.NotAfter):
		return doctor.Doubtful("renew http.tls.cert", "the certificate expires on %s", shown.NotAfter.UTC().Format(time.DateOnly))
	}
	return doctor.Fine("the certificate is valid until %s", shown.NotAfter.UTC().Format(time.DateOnly))
}

// ready asks the address of operators whether Kafka takes events from the running producer.
func (p *patient) ready(ctx context.Context) doctor.Findings {
	if p.HTTP.AdminAddr == "" {
		return doctor.Doubtful("set http.admin_addr", "nobody can ask whether the producer is ready: http.admin_addr is empty")
	}
	if err := health.Ask(ctx, "http.admin_addr", p.HTTP.AdminAddr); err != nil {
		return doctor.Faulty("look at the producer's log", "the producer at http.admin_addr is not ready: %v", err)
	}
	return doctor.Fine("the producer is ready")
}
