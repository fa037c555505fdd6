package links

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"footfall/models"
)

// MaxTarget is the longest target in bytes, which all browsers and proxies still take.
const MaxTarget = 2048

// checkTarget wants a URL that leads to another website and to nothing else: javascript:, data: and file: run or show
// something in the name of whoever made the link, and // or a path would lead back to us.
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

// checkLoop refuses a target that leads back to the door: its links would lead round in circles, and each round would be a
// click. base is what short links begin with.
func checkLoop(long, base string) error {
	target, err := url.Parse(long)
	if err != nil {
		return err
	}
	own, err := url.Parse(base)
	if err != nil || hostOf(target) != hostOf(own) {
		return nil //nolint:nilerr // the client wrote something odd for a host, which is not ours then
	}
	folder := strings.TrimRight(own.Path, "/") + "/"
	if folder == "/" || strings.HasPrefix(path.Clean("/"+target.Path)+"/", folder) { // as browsers read it, dots and all
		return &models.Invalid{Reason: "bad_long_url", Detail: "it leads back to this server"}
	}
	return nil
}

// notInTarget refuses what some reader of the URL would drop or take for something else. U+FFFD is what the JSON decoder
// makes of half a character.
func notInTarget(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\' || r == utf8.RuneError
}

// location writes a target for a header, which takes ASCII only.
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
