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
	"footfall/models"
)

const forgetHelp = `Usage: consumer forget [--guid GUID]... [--ip IP]...

Removes the rows that remember these visitors: those of GuidData by guid, on all sites; those of
uniquecounterips and latestclicks by IP, on all links. Prints how many. Counts stay as they are.
When such a visitor is seen again it counts as a new one. Running consumers forget what they
remember of visitors within a few seconds.

With privacy.ip: hashed at the doors, rows have a hash in place of the IP: pass that hash, or the
IP with the doors' secret in the environment (FOOTFALL_PRIVACY_SECRET).

The Kafka topics still hold the visitor's events until their retention is over.
`

// hash is what a door keeps in place of an IP with privacy.ip: hashed.
var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// address reads an IP in any notation, or what is stored in its place.
func address(text string) (string, error) {
	if hash.MatchString(text) {
		return text, nil
	}
	ip, err := netip.ParseAddr(text)
	if err != nil {
		return "", fmt.Errorf("%q is neither an IP address nor the hash of one (64 hex digits)", text)
	}
	return ip.Unmap().WithZone("").String(), nil
}

// stored are the names that visitors with these IPs may have in the tables: as they are, and hashed if the secret is known.
func stored(ips []string, secret string) []string {
	out := slices.Clone(ips)
	for _, ip := range ips {
		if secret != "" && !hash.MatchString(ip) {
			mac := hmac.New(sha256.New, []byte(secret))
			mac.Write([]byte(ip)) // never fails; the doors do the same
			out = append(out, hex.EncodeToString(mac.Sum(nil)))
		}
	}
	return out
}

func forget(ctx context.Context, cfg configs.Consumer, plan *models.Plan, line commandLine, report func(string, ...any)) error {
	door, err := configs.LoadProducer("") // for the secret, in the environment
	if err != nil {
		return fmt.Errorf("%w; %w", err, errUsage)
	}
	store, err := cassandra.Open(ctx, cfg.Cassandra, plan)
	if err != nil {
		return err
	}
	defer store.Close()
	last := time.Now()
	f, err := store.Forget(ctx, line.guids, stored(line.ips, door.Privacy.Secret), func(f cassandra.Forgotten) {
		if time.Since(last) > 5*time.Second {
			last = time.Now()
			report("%d partitions looked at so far", f.Looked)
		}
	})
	if len(line.guids) > 0 {
		report("%d rows removed from GuidData", f.Guids)
	}
	if len(line.ips) > 0 {
		report("%d rows removed from uniquecounterips, %d from latestclicks", f.IPs, f.Clicks)
	}
	if err != nil {
		return err
	}
	if f.Guids+f.IPs+f.Clicks == 0 {
		report("nothing was found")
		if len(line.ips) > 0 && door.Privacy.Secret == "" {
			report("do the doors hash addresses (privacy.ip: hashed)? Then pass the hash, or set FOOTFALL_PRIVACY_SECRET as they have it")
		}
	}
	report("counts stay as they are; when seen again, these visitors count as new")
	return nil
}
