// Package enrich reads from a request what is not in the event: the client's address behind proxies, its country, whether it is a
// bot, what its user agent tells, the referring host, and the name under which its address is kept.
//
// Anybody can send any header. Those that a proxy sets (X-Forwarded-For, a country) are believed from trusted proxies only.
package enrich

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"

	"github.com/oschwald/maxminddb-golang/v2"
)

// minKey is the shortest key of a hash. Without a secret key anybody could hash all IPv4 addresses and compare.
const minKey = 16

// Options say whom to trust and what to keep. The zero value trusts nobody and keeps addresses as they are.
type Options struct {
	// TrustedProxies are the networks of proxies in front of the producer, as CIDRs or single addresses. Default: none.
	TrustedProxies []string

	// CountryHeader is the header in which a trusted proxy tells the client's country, such as CF-IPCountry. Default: none.
	CountryHeader string

	// MaxMindFile is a country or city database in MaxMind's format. It is asked for addresses that the database in the binary
	// does not know. Default: none.
	MaxMindFile string

	// HashIP keeps addresses as a keyed hash. HashKey is its key, at least 16 bytes. Default: addresses are kept as they are.
	HashIP  bool
	HashKey string

	// Rotate is how long a hash stays the same: models.Monthly or models.Daily. Default: as long as the key does.
	Rotate string

	// TruncateIP keeps the network of an address, an IPv4 /24 or an IPv6 /48. Default: all of it.
	TruncateIP bool

	// IPv6Prefix is how many bits of an IPv6 address identify a visitor: a customer has at least a /64, and often a /56.
	// Default: 128, each address.
	IPv6Prefix int
}

// Enricher answers questions about a request. It is safe for concurrent use until Close.
type Enricher struct {
	trusted       []netip.Prefix
	countryHeader string
	file          *maxminddb.Reader // nil if none is configured
	hashKey       []byte            // nil: addresses are kept as they are
	period        string            // of the key, as time.Time formats it; empty: it stays the same
	truncate      bool
	prefix        int // of an IPv6 address
	agents        *agents
}

// New checks the options and opens the MaxMind file if there is one.
func New(o Options) (*Enricher, error) {
	e := &Enricher{
		countryHeader: http.CanonicalHeaderKey(strings.TrimSpace(o.CountryHeader)), agents: newAgents(), period: o.Rotate, truncate: o.TruncateIP,
		prefix: cmp.Or(o.IPv6Prefix, 128),
	}
	if e.prefix < 1 || e.prefix > 128 {
		return nil, fmt.Errorf("an IPv6 address has no network of %d bits", e.prefix)
	}
	for _, text := range o.TrustedProxies {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		network, err := parseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("reading trusted proxies: %q: want a network such as 10.0.0.0/8 or an address: %w", text, err)
		}
		e.trusted = append(e.trusted, network)
	}
	if o.HashIP {
		if len(o.HashKey) < minKey {
			return nil, fmt.Errorf("hashing addresses needs a key of at least %d bytes: make one with `openssl rand -hex 32`", minKey)
		}
		e.hashKey = []byte(o.HashKey)
	}
	if o.MaxMindFile != "" {
		file, err := maxminddb.Open(o.MaxMindFile)
		if err != nil {
			return nil, fmt.Errorf("opening the MaxMind file: %w", err)
		}
		if kind := file.Metadata.DatabaseType; !strings.Contains(kind, "Country") && !strings.Contains(kind, "City") &&
			!strings.Contains(kind, "Enterprise") {
			return nil, errors.Join(fmt.Errorf("opening the MaxMind file: %s is a %q database: want a country or city one", o.MaxMindFile, kind),
				file.Close())
		}
		e.file = file
	}
	return e, nil
}

// Close releases the MaxMind file. No other method may be called during or after it.
func (e *Enricher) Close() error {
	if e.file == nil {
		return nil
	}
	return e.file.Close()
}

func parseNetwork(text string) (netip.Prefix, error) {
	if !strings.Contains(text, "/") {
		ip, err := netip.ParseAddr(text)
		if err != nil {
			return netip.Prefix{}, err
		}
		ip = plain(ip)
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	network, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, err
	}
	if network.Addr().Is4In6() { // addresses are compared unmapped
		if network.Bits() < 96 {
			return netip.Prefix{}, errors.New("a network of mapped IPv4 addresses has at least 96 bits")
		}
		network = netip.PrefixFrom(network.Addr().Unmap(), network.Bits()-96)
	}
	return network.Masked(), nil
}
