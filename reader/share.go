package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"footfall/configs"
	"footfall/models"
	"footfall/reader/access"
)

const shareHelp = `Prints a link by which anyone who has it can read one site or one link, until it ends, without a key. It is signed
with the first of access.share_secrets, which the readers must have too. To revoke it put its id, the text from share= to the first
dot, into access.share_revoked of the readers. It leads to a page; with /v1/stats before its path it leads to the numbers.
`

// completeShare says what is missing.
func (line *commandLine) completeShare() error {
	if err := line.one(); err != nil {
		return fmt.Errorf("share: %w", err)
	}
	if line.until == "" {
		return errors.New("share needs --until, such as 30d")
	}
	_, err := endOf(line.until, time.Now())
	return err
}

// one says what is wrong with the site or the link that a command is about.
func (line *commandLine) one() error {
	switch {
	case (line.site == "") == (line.link == ""):
		return errors.New("want --site or --link, one of them")
	case len(line.site) > models.MaxSiteID || len(line.link) > models.MaxShortURL:
		return errors.New("no site or link has such a long name")
	}
	return nil
}

// share prints a link. It asks nobody: whether there is such a site or link does not matter.
func share(_ context.Context, cfg configs.Reader, line commandLine, stdout, _ io.Writer) error {
	who, err := access.New(cfg.Access)
	if err != nil {
		return configs.MarkWrong(err)
	}
	until, err := endOf(line.until, time.Now())
	if err != nil {
		return err
	}
	signed, err := who.Sign(access.Share{Site: line.site, Link: line.link, Until: until}, time.Now())
	if err != nil {
		return configs.MarkWrong(err)
	}
	base := cmp.Or(line.base, cfg.HTTP.TLS.URL(cfg.HTTP.Addr))
	path := "/sites/" + url.PathEscape(line.site)
	if line.link != "" {
		path = "/links/" + url.PathEscape(line.link)
	}
	_, err = fmt.Fprintf(stdout, "%s%s?share=%s\n", strings.TrimSuffix(base, "/"), path, signed)
	return err
}

// endOf reads when a share link ends.
func endOf(text string, now time.Time) (time.Time, error) {
	at, err := parseEnd(text, now)
	switch {
	case err != nil:
		return at, fmt.Errorf("--until %q: want a time from now such as 30d or 12h, a day such as 2026-12-31 or a time such as 2026-12-31T18:00:00Z", text)
	case !at.After(now):
		return at, fmt.Errorf("--until %q has passed", text)
	}
	return at, nil
}

func parseEnd(text string, now time.Time) (time.Time, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return now.AddDate(0, 0, int(n)), err //nolint:gosec // 16 bits
	}
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	return time.Parse(time.RFC3339, text)
}
