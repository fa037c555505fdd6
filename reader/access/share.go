package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Share is what a share link lets anyone read who has it: one site or one link, until a time. Names are taken as they are: a * at the
// end of one is a part of the name.
type Share struct {
	Site  string
	Link  string
	Until time.Time // whole seconds
}

// payload is how a share is written. Both names are there, so that no two shares have the same text.
type payload struct {
	Site  string `json:"site"`
	Link  string `json:"link"`
	From  int64  `json:"from"`  // unix seconds
	Until int64  `json:"until"` // unix seconds
}

// Signatures are of this text, the id and the payload, so that a secret that also signs something else does not sign shares by it.
const shareVersion = "footfall share 2\n"

// maxShare is longer than any share of ours: names have 128 bytes at the most, of which JSON may make six each.
const maxShare = 4 << 10

// encoding has one text for each payload: Strict refuses others that decode to the same bytes.
var encoding = base64.RawURLEncoding.Strict()

// ErrNoSecret says that there is nothing to sign with.
var ErrNoSecret = errors.New("access.share_secrets is empty: set a secret, the same as the readers have (openssl rand -hex 32 makes one)")

// Sign is the text of a share link's parameter share: an id, what is shared, and the signature with the first secret. It returns ErrNoSecret
// if there is none.
func (a *Access) Sign(s Share, now time.Time) (string, error) {
	if len(a.secrets) == 0 {
		return "", ErrNoSecret
	}
	if (s.Site == "") == (s.Link == "") {
		return "", errors.New("a share link is for one site or one link")
	}
	p := payload{s.Site, s.Link, now.Unix(), s.Until.Unix()}
	if a.tooLong(p) {
		return "", fmt.Errorf("a share link lives for %v at the most (access.share_longest): let it end earlier", a.longest)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return "", err
	}
	id := rand.Text()[:12] // 60 bits
	return id + "." + encoding.EncodeToString(text) + "." + encoding.EncodeToString(signature(a.secrets[0], id, text)), nil
}

func (a *Access) tooLong(p payload) bool {
	return a.longest > 0 && p.Until-p.From > int64(a.longest/time.Second)
}

func signature(secret []byte, id string, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(shareVersion + id + "\n"))
	mac.Write(text)
	return mac.Sum(nil)
}

// ofShare checks the signature before it looks at anything that is signed.
func (a *Access) ofShare(share string, now time.Time) (Holder, error) {
	forged := &Denied{BadShare, "this share link is not signed by this reader"}
	if len(share) > maxShare || strings.ContainsAny(share, "\r\n") { // encoding/base64 skips these
		return Holder{}, forged
	}
	id, rest, _ := strings.Cut(share, ".")
	encoded, sum, whole := strings.Cut(rest, ".")
	if !whole {
		return Holder{}, forged
	}
	text, err := encoding.DecodeString(encoded)
	if err != nil {
		return Holder{}, forged
	}
	signed, err := encoding.DecodeString(sum)
	if err != nil {
		return Holder{}, forged
	}
	valid := false
	for _, secret := range a.secrets {
		valid = hmac.Equal(signed, signature(secret, id, text)) || valid
	}
	if !valid {
		return Holder{}, forged
	}
	var p payload
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields() // what a later version adds may be a restriction
	if err := d.Decode(&p); err != nil || (p.Site == "") == (p.Link == "") {
		return Holder{}, forged
	}
	switch {
	case slices.Contains(a.revoked, id):
		return Holder{}, &Denied{BadShare, "this share link was revoked: ask for a new one"}
	case a.tooLong(p):
		return Holder{}, &Denied{BadShare, "this share link lives longer than this reader permits (access.share_longest): ask for a new one"}
	case now.Unix() >= p.Until:
		return Holder{}, &Denied{ShareExpired, "this share link ended at " + time.Unix(p.Until, 0).UTC().Format(time.RFC3339)}
	}
	return Holder{exactSite: p.Site, exactLink: p.Link}, nil
}
