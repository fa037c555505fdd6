package intake

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"footfall/configs"
	"footfall/internal/kafka/dial"
	"footfall/models"
	"footfall/producer/admission"
	"footfall/producer/enrich"
)

// The values of privacy.ip.
const raw, truncated, hashed = "raw", "truncated", "hashed"

// never is the privacy.rotate of a secret that stays the same; periods are the others.
const never = "never"

var periods = map[string]string{"monthly": models.Monthly, "daily": models.Daily}

// Check returns what is wrong with the configuration (*configs.Wrong), without connecting to any server. Run does it too:
// Check is for callers that open something else first.
func Check(cfg configs.Producer) error {
	p, err := newParts(cfg)
	if err != nil {
		return err
	}
	return p.enrich.Close()
}

// parts are what a server makes from its configuration alone.
type parts struct {
	plan   *models.Plan
	access *admission.Access
	enrich *enrich.Enricher
	secure *configs.KeyPair // nil for plain HTTP
	via    dial.Kafka
}

func newParts(cfg configs.Producer) (p parts, err error) {
	if err := checkConfig(cfg); err != nil {
		return p, wrong(err)
	}
	if p.plan, err = models.NewPlan(cfg.Features, models.AllMetrics()); err != nil { // only consumers know which metrics are kept
		return p, wrong(err)
	}
	if p.access, err = admission.NewAccess(cfg.Access); err != nil {
		return p, wrong(err)
	}
	if p.secure, err = cfg.HTTP.TLS.KeyPair(); err != nil {
		return p, wrong(err)
	}
	if p.via, err = dial.New(cfg.Kafka.KafkaClient); err != nil {
		return p, err
	}
	p.enrich, err = enrich.New(enrich.Options{
		TrustedProxies: cfg.HTTP.TrustedProxies, CountryHeader: cfg.Enrichment.CountryHeader, MaxMindFile: cfg.Enrichment.MaxmindFile,
		HashIP: cfg.Privacy.IP == hashed, HashKey: cfg.Privacy.Secret, Rotate: periods[cfg.Privacy.Rotate], TruncateIP: cfg.Privacy.IP == truncated,
		IPv6Prefix: cfg.Privacy.IPv6Prefix,
	})
	if err != nil {
		return p, wrong(err)
	}
	return p, nil
}

// wrong marks an error of the configuration.
func wrong(err error) error {
	return configs.MarkWrong(fmt.Errorf("checking the configuration: %w", err))
}

// checkConfig refuses values that no server can work with.
func checkConfig(cfg configs.Producer) error {
	if err := configs.CheckKafka(cfg.Kafka.Brokers, cfg.Kafka.Topics); err != nil {
		return err
	}
	switch {
	case cfg.Kafka.Topics.Clicks == cfg.Kafka.Topics.Visits:
		return errors.New("kafka.topics: clicks and visits cannot share a topic")
	case cfg.Kafka.Timeout <= 0:
		return errors.New("kafka.timeout must be more than 0")
	case cfg.HTTP.AdminAddr == cfg.HTTP.Addr && !strings.HasSuffix(cfg.HTTP.Addr, ":0"):
		return errors.New("http.admin_addr equals http.addr: operators need an address of their own, which the public cannot reach")
	case cfg.HTTP.MaxInFlight < 1:
		return errors.New("http.max_in_flight must be at least 1")
	case cfg.HTTP.MaxBody < 1:
		return errors.New("http.max_body must be at least 1")
	case cfg.HTTP.BatchEvents < 1 || cfg.HTTP.BatchBytes < 1:
		return errors.New("http.batch_events and http.batch_bytes must be at least 1")
	case cfg.HTTP.Connections < 1 || cfg.HTTP.PerNetwork < 0:
		return errors.New("http.connections must be at least 1, and http.connections_per_network at least 0: 0 is no limit")
	case cfg.HTTP.BodyBytes < 3*max(cfg.HTTP.MaxBody, cfg.HTTP.BatchBytes):
		return errors.New("http.body_bytes must be at least three times http.max_body and http.batch_bytes")
	case cfg.Time.MaxAhead < 0 || cfg.Time.MaxAge < 0 || cfg.Time.PageMaxAge < 0:
		return errors.New("time.max_ahead, time.max_age and time.page_max_age must not be negative")
	case cfg.Time.MaxAhead > models.MaxAhead/2:
		return fmt.Errorf("time.max_ahead must be at most %v: consumers refuse events that are more than %v ahead", models.MaxAhead/2, models.MaxAhead)
	case !rate(cfg.Limits.ClientPerSecond) || !rate(cfg.Limits.SitePerSecond) || !rate(cfg.Limits.PageClientPerSecond) ||
		!rate(cfg.Limits.RedirectClientPerSecond) || !rate(cfg.Limits.GrantPerSecond) || cfg.Limits.PageClientNewKeysPerMinute < 0 || cfg.Limits.NewKeysPerMinute < 0 || cfg.Limits.NewVisitorsPerMinute < 0 || cfg.Limits.NewReferrersPerMinute < 0:
		return errors.New("limits must be numbers from 0 on: 0 is no limit")
	case cfg.Privacy.IP != raw && cfg.Privacy.IP != truncated && cfg.Privacy.IP != hashed:
		return errors.New("privacy.ip must be raw, truncated or hashed")
	case cfg.Privacy.Rotate != never && (periods[cfg.Privacy.Rotate] == "" || cfg.Privacy.IP != hashed):
		return errors.New("privacy.rotate must be never, or with privacy.ip: hashed monthly or daily")
	case cfg.Privacy.IPv6Prefix < 1 || cfg.Privacy.IPv6Prefix > 128:
		return errors.New("privacy.ipv6_prefix must be from 1 to 128: how many bits of an IPv6 address make a visitor")
	case cfg.Links.Enabled:
		return linkOptions(cfg.Links).Sensible()
	}
	return nil
}

// rate tells whether a limit is a finite number from 0 on; the environment could also say NaN.
func rate(perSecond float64) bool { return perSecond >= 0 && !math.IsInf(perSecond, 1) }
