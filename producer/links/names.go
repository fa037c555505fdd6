package links

import (
	"crypto/rand"
	"slices"
	"strings"
)

const (
	// MaxShort is the longest name of a link.
	MaxShort = 64

	// codeLength is the length of a made-up name at first. There are 62^7, or 3.5e12, so that guessing finds nothing.
	codeLength = 7

	base62 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// reserved are the producer's own paths that could be names of links. Others, such as /track.js, have a dot.
var reserved = []string{"track", "v1", "healthz", "readyz", "metrics", "debug", "admin", "api", "static"}

// Name tells whether text can be the name of a link: letters, digits, - and _, which every browser, proxy and router leaves as
// they are, and none of the producer's own paths, in upper or lower case.
func Name(text string) bool {
	return text != "" && len(text) <= MaxShort && !strings.ContainsFunc(text, notInName) && !slices.Contains(reserved, strings.ToLower(text))
}

func notInName(r rune) bool { return r != '-' && r != '_' && !strings.ContainsRune(base62, r) }

// Beginning tells whether text can be the prefix of a made-up name.
func Beginning(text string) bool {
	return len(text)+codeLength+attempts-1 <= MaxShort && !strings.ContainsFunc(text, notInName)
}

// randomName makes up a name of n letters and digits.
func randomName(n int) string {
	const fair = 256 - 256%len(base62) // larger bytes would make the first letters more likely
	name := make([]byte, 0, n)
	for {
		var random [16]byte
		_, _ = rand.Read(random[:]) // never fails
		for _, b := range random {
			if int(b) >= fair {
				continue
			}
			if name = append(name, base62[int(b)%len(base62)]); len(name) == n {
				if Name(string(name)) {
					return string(name)
				}
				name = name[:0] // it is a reserved path
			}
		}
	}
}
