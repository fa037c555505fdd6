package links

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"footfall/models"
)

// MaxTarget is the longest target in bytes that all browsers and proxies take.
const MaxTarget = 2048

// checkTarget refuses URLs that do not lead to another website. javascript:, data: and file: would run or show something in the
// name of whoever created the link, and // or a path would lead back to the producer.
func checkTarget(long string) error {
	bad := func(detail string) error { return &models.Invalid{Reason: "bad_long_url", Detail: detail} }
	switch {
	case long == "":
		return &models.Invalid{Reason: "missing_long_url"}
	case len(long) > MaxTarget:
		return &models.Invalid{Reason: "long_url_too_long"}
	case !utf8.ValidString(long):
		return &models.Invalid{Reason: "long_url_bad_utf8"}
	case strings.IndexFunc(long, notInTarget) >= 0:
		return bad("white space, control characters and backslashes must be escaped, as in %20")
	}
	u, err := url.Parse(long)
	switch {
	case err != nil:
		return bad("not a URL")
	case !strings.EqualFold(u.Scheme, "http") && !strings.EqualFold(u.Scheme, "https"):
		return bad("want http:// or https://")
	case u.Hostname() == "":
		return bad("want a host, as in https://example.org/")
	case u.User != nil:
		return bad("want no user name or password: anybody who follows the link would see them")
	}
	return nil
}

// checkLoop refuses a target that leads back to the producer: browsers would follow it in a loop, and each round would be a
// click. base is the beginning of all short links.
func checkLoop(long, base string) error {
	target, err := url.Parse(long)
	if err != nil {
		return err
	}
	own, err := url.Parse(base)
	if err != nil || hostOf(target) != hostOf(own) {
		return nil //nolint:nilerr // a Host header that is no host is not ours
	}
	folder := strings.TrimRight(own.Path, "/") + "/"
	if folder == "/" || strings.HasPrefix(path.Clean("/"+target.Path)+"/", folder) { // with . and .. resolved, as browsers do
		return &models.Invalid{Reason: "bad_long_url", Detail: "it leads back to this server"}
	}
	return nil
}

// notInTarget is a character that some readers of URLs drop or take for another one. The JSON decoder makes U+FFFD of invalid
// characters.
func notInTarget(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\' || r == utf8.RuneError
}

// location percent-encodes a target for the Location header, which takes ASCII only.
func location(long string) string {
	var b strings.Builder
	const hex = "0123456789ABCDEF"
	for i := range len(long) {
		if c := long[i]; c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
