package page

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"footfall/models"
	"footfall/reader/params"
	"footfall/reader/stats"
)

// problemView is a page that says why there is no other.
type problemView struct {
	Heading, Detail string
	Instead         []string // what can be asked instead
	Back            choice   // a page that can be shown; no Href: none
}

func problem(heading, detail string, instead ...string) *view {
	return &view{Title: heading, Body: "problem", Data: problemView{Heading: heading, Detail: detail, Instead: instead}}
}

// Denied says why somebody may not see a page.
type Denied struct {
	Status int    // 401 if they showed neither a read key nor a share link, else 403
	Detail string // for people
	Cause  error  // may be nil
}

func (d *Denied) Error() string { return d.Detail }

// Unwrap is the cause.
func (d *Denied) Unwrap() error { return d.Cause }

// deny shows why somebody may not see a page, and asks for a key.
func (h *Handler) deny(w http.ResponseWriter, r *http.Request, denied *Denied) {
	h.Refused(r.Context(), denied)
	if denied.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer") // no browser opens a window of its own for this scheme
	}
	v := problem("This page is not open to everybody", sentence(denied.Detail))
	v.SignIn = true
	h.show(w, r, denied.Status, v)
}

// Refuse shows why a request is not answered at all: a page for whoever asked for one.
func (h *Handler) Refuse(w http.ResponseWriter, r *http.Request, status int, detail string) {
	setHeaders(w.Header())
	heading := "This page cannot be shown"
	if status == http.StatusServiceUnavailable {
		heading = "The counts cannot be read right now"
		w.Header().Set("Retry-After", "1")
	}
	h.show(w, r, status, problem(heading, sentence(detail)))
}

// fail shows why there is no answer.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, at place, err error) {
	var (
		kept      *stats.NotKept
		malformed *stats.Malformed
		much      *stats.TooMuch
		aligned   *stats.NotAligned
		wrong     *params.Wrong
	)
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the client is gone
	}
	h.Refused(r.Context(), err)
	status, v := http.StatusUnprocessableEntity, (*view)(nil)
	switch {
	case errors.As(err, &kept):
		v = problem("This is not kept", sentence(kept.Asked+" is not kept"), kept.Instead...)
	case errors.As(err, &much):
		v = problem("This is too much at once", sentence(much.Error()))
	case errors.As(err, &aligned):
		v = problem("This is not kept", sentence(aligned.Error()))
	case errors.As(err, &malformed):
		status, v = http.StatusBadRequest, problem("This address cannot be understood", invalid(malformed))
	case errors.As(err, &wrong):
		status, v = http.StatusBadRequest, problem("This address cannot be understood", names.Replace(models.Visible(wrong.Detail))+".")
	case errors.Is(r.Context().Err(), context.DeadlineExceeded):
		h.Refuse(w, r, http.StatusServiceUnavailable, "it took too long: ask for less at once, or reload the page to try again")
		return
	default:
		h.Refuse(w, r, http.StatusServiceUnavailable, "the store of counts does not answer: reload the page to try again")
		return
	}
	v.Share = at.q.Get("share")
	if at.checkName() == nil && at.name != "" {
		data := v.Data.(problemView)
		data.Back = choice{Label: "To the page of " + clip(models.Visible(at.name)), Href: at.to(at.kind, at.name)}
		v.Data = data
	}
	h.show(w, r, status, v)
}

// names are those of the API's fields, as people call them.
var names = strings.NewReplacer("short_url:", "The name of a link:", "siteId:", "The name of a site:")

// fields are the parameters of a page whose names do not say what they are.
var fields = map[string]string{"from": "first day", "last": "last day", "by": "unit"}

// invalid says which part of an address is not valid, and what is.
func invalid(e *stats.Malformed) string {
	detail := models.Visible(e.Detail)
	if rest, ok := strings.CutPrefix(detail, "want "); ok {
		detail = "use " + rest
	}
	return "The " + models.Visible(cmp.Or(fields[e.Field], e.Field)) + " in this address is not valid. " + sentence(detail)
}

// sentence makes one of what an error says. Errors begin with a letter of ours.
func sentence(text string) string {
	text = models.Visible(text)
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
