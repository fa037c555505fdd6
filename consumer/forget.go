package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"time"

	"footfall/configs"
	"footfall/consumer/cassandra"
	"footfall/consumer/pause"
	"footfall/models"
)

const forgetHelp = `Removes the rows that remember these visitors: those of GuidData by guid, on all sites;
those of uniquecounterips and latestclicks by IP, on all links. Prints how many. Counts stay as they are.
A visitor who comes back counts as a new one. Running consumers clear their caches of visitors
within a few seconds.

If producers have privacy.ip: hashed, rows have a hash in place of the IP. Pass that hash, or pass
the IP and set FOOTFALL_PRIVACY_SECRET and FOOTFALL_PRIVACY_ROTATE as the producers have them: then
rows of the last 36 months, or 400 days, are found. If they have privacy.ip: truncated, pass the
network's first address (203.0.113.0): all its visitors share that row. For an IPv6 address the rows
of the address and of its network are removed; set FOOTFALL_PRIVACY_IPV6_PREFIX if the producers have
another prefix than 64.

The Kafka topics still hold the visitor's events until their retention is over.
`

// hash is what a producer sends in place of an IP with privacy.ip: hashed, unless names change with a period.
var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// address reads an IP in any notation, or what is stored in its place.
func address(text string) (string, error) {
	if _, named := models.PeriodEnd(text); named || hash.MatchString(text) {
		return text, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return "", fmt.Errorf("%q is neither an IP address nor the hash of one (64 hex digits)", text)
	}
	return ip.Unmap().WithZone("").String(), nil
}

// stored lists the names that visitors with these IPs may have in the tables: the IP or its network, and if the secret is known its
// hash, with the keys of the last periods if they change. Producers name visitors in the same way.
func stored(ips []string, p configs.Privacy, now time.Time) []string {
	out := slices.Clone(ips)
	for _, ip := range ips { // old rows have the IPv6 address, new ones its network
		if a, err := netip.ParseAddr(ip); err == nil && a.Is6() && p.IPv6Prefix > 0 && p.IPv6Prefix < 128 {
			out = append(out, netip.PrefixFrom(a, p.IPv6Prefix).Masked().Addr().String())
		}
	}
	for _, ip := range slices.Clone(out) {
		if _, err := netip.ParseAddr(ip); p.Secret == "" || err != nil { // it is a hash
			continue
		}
		secret := []byte(p.Secret)
		out = append(out, hex.EncodeToString(mac(secret, ip)))
		for _, period := range periods(p.Rotate, now) {
			out = append(out, models.PeriodName(period, mac(mac(secret, period), ip)))
		}
	}
	return out
}

// How far back visitors are found if their names change with a period.
const monthsBack, daysBack = 36, 400

// periods lists the recent months or days in each of which a visitor has another name.
func periods(rotate string, now time.Time) (list []string) {
	switch first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC); rotate {
	case "monthly":
		for i := range monthsBack {
			list = append(list, first.AddDate(0, -i, 0).Format(models.Monthly))
		}
	case "daily":
		for i := range daysBack {
			list = append(list, now.UTC().AddDate(0, 0, -i).Format(models.Daily))
		}
	}
	return list
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text)) // never fails
	return h.Sum(nil)
}

func forget(ctx context.Context, t *task) error {
	producer, err := configs.LoadProducer("") // for the secret, in the environment
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	last := time.Now()
	var f cassandra.Forgotten
	err = pause.Work(ctx, t.store, "consumer forget", func(ctx context.Context) (err error) {
		f, err = t.store.Forget(ctx, t.guids, stored(t.ips, producer.Privacy, time.Now().UTC()), func(f cassandra.Forgotten) {
			if time.Since(last) > 5*time.Second {
				last = time.Now()
				t.report("%d partitions read so far", f.Looked)
			}
		})
		return err
	})
	if len(t.guids) > 0 {
		t.report("%d rows removed from GuidData", f.Guids)
	}
	if len(t.ips) > 0 {
		t.report("%d rows removed from uniquecounterips, %d from latestclicks", f.IPs, f.Clicks)
	}
	if err != nil {
		return err
	}
	if f.Guids+f.IPs+f.Clicks == 0 {
		t.report("nothing was found")
		if len(t.ips) > 0 && producer.Privacy.Secret == "" {
			t.report("if producers hash addresses (privacy.ip: hashed), pass the hash, or set FOOTFALL_PRIVACY_SECRET as they have it")
		}
	}
	t.report("counts stay as they are; a visitor who comes back counts as new")
	return nil
}
