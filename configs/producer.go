package configs

import "time"

// Access says who may write.
type Access struct {
	Open  bool // anyone may
	Sites []Site
}

// Site is what the holder of one of the keys may write, and from where. Patterns are names, or the beginning of names
// and a *.
type Site struct {
	Site        string   `json:"site"`                                     // whose visits; none if empty
	Links       string   `json:"links"`                                    // whose clicks, by short_url; none if empty
	CreateLinks bool     `json:"create_links" mapstructure:"create_links"` // may also make those links
	KeyHashes   []string `json:"key_hashes" mapstructure:"key_hashes"`     // SHA-256 of the keys, in hex
	Origins     []string `json:"origins"`                                  // of browsers; * for any
}

// Limits says how much a client and a site may send. A rate of 0 is no limit.
type Limits struct {
	ClientPerSecond            float64 `mapstructure:"client_per_second"`
	ClientBurst                int     `mapstructure:"client_burst"`
	PageClientPerSecond        float64 `mapstructure:"page_client_per_second"`
	PageClientBurst            int     `mapstructure:"page_client_burst"`
	PageClientNewKeysPerMinute int     `mapstructure:"page_client_new_keys_per_minute"`
	RedirectClientPerSecond    float64 `mapstructure:"redirect_client_per_second"`
	RedirectClientBurst        int     `mapstructure:"redirect_client_burst"`
	GrantPerSecond             float64 `mapstructure:"grant_per_second"`
	GrantBurst                 int     `mapstructure:"grant_burst"`
	SitePerSecond              float64 `mapstructure:"site_per_second"`
	SiteBurst                  int     `mapstructure:"site_burst"`
	NewKeysPerMinute           int     `mapstructure:"new_keys_per_minute"`
	NewVisitorsPerMinute       int     `mapstructure:"new_visitors_per_minute"`
	NewReferrersPerMinute      int     `mapstructure:"new_referrers_per_minute"`
}

// Time says which events are too new or too old.
type Time struct {
	MaxAhead   time.Duration `mapstructure:"max_ahead"`
	MaxAge     time.Duration `mapstructure:"max_age"`      // 0: no limit
	PageMaxAge time.Duration `mapstructure:"page_max_age"` // with a key that is part of a page; 0: MaxAge
}

// Enrichment says where what an event lacks comes from.
type Enrichment struct {
	CountryHeader string `mapstructure:"country_header"`
	MaxmindFile   string `mapstructure:"maxmind_file"`
}

// Privacy says how visitors are remembered.
type Privacy struct {
	IP            string // raw, truncated or hashed
	Secret        string // the key of the hash
	Rotate        string // never, monthly or daily
	IPv6Prefix    int    `mapstructure:"ipv6_prefix"`
	KeepUserAgent bool   `mapstructure:"keep_user_agent"`
}

// Links configures short links: making them, and redirecting.
type Links struct {
	Enabled     bool
	Cache       int
	NegativeTTL time.Duration `mapstructure:"negative_ttl"`
	Queue       int
	BaseURL     string `mapstructure:"base_url"`
}
