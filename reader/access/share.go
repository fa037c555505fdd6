package access

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	Until int64  `json:"until"` // unix seconds
}

// Signatures are of this text and the payload, so that a secret that also signs something else does not sign shares by it.
const shareVersion = "footfall share 1\n"

// maxShare is longer than any share of ours: names have 128 bytes at the most, of which JSON may make six each.
const maxShare = 4 << 10

// encoding has one text for each payload: Strict refuses others that decode to the same bytes.
var encoding = base64.RawURLEncoding.Strict()

// ErrNoSecret says that there is nothing to sign with.
var ErrNoSecret = errors.New("access.share_secrets is empty: set a secret, the same as the readers have (openssl rand -hex 32 makes one)")

// Sign is the text of a share link's parameter share, signed with the first secret. It returns ErrNoSecret if there is none.
func (a *Access) Sign(s Share) (string, error) {
	if len(a.secrets) == 0 {
		return "", ErrNoSecret
	}
	if (s.Site == "") == (s.Link == "") {
		return "", errors.New("a share link is for one site or one link")
	}
	text, err := json.Marshal(payload{s.Site, s.Link, s.Until.Unix()})
	if err != nil {
		return "", err
	}
	return encoding.EncodeToString(text) + "." + encoding.EncodeToString(signature(a.secrets[0], text)), nil
}

func signature(secret, text []byte) []byte {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(shareVersion))
	mac.Write(text)
	return mac.Sum(nil)
}

// ofShare checks the signature before it looks at anything that is signed.
func (a *Access) ofShare(share string, now time.Time) (Holder, error) {
	forged := &Denied{BadShare, "this share link is not signed by this reader; it may have been revoked"}
	if len(share) > maxShare || strings.ContainsAny(share, "\r\n") { // encoding/base64 skips these
		return Holder{}, forged
	}
	encoded, sum, _ := strings.Cut(share, ".")
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
		valid = hmac.Equal(signed, signature(secret, text)) || valid
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
	if now.Unix() >= p.Until {
		return Holder{}, &Denied{ShareExpired, "this share link ended at " + time.Unix(p.Until, 0).UTC().Format(time.RFC3339)}
	}
	return Holder{exactSite: p.Site, exactLink: p.Link}, nil
}
