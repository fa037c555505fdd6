package web

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"

	"footfall/internal/fair"
	"footfall/internal/grant"
	"footfall/reader/access"
	"footfall/reader/page"
)

// newPages are the pages for people.
func (s *Server) newPages() *page.Handler {
	return page.New(s.stats, page.Options{
		Log: s.cfg.Log, Now: s.cfg.Now, Pulse: s.cfg.Pulse, Producer: s.cfg.Producer, WriteKey: s.cfg.WriteKey,
		Refused:  func(ctx context.Context, err error) { s.count(refusalOf(ctx, err)) },
		Panicked: func(p any) { s.panicked("page", p) },
		Take:     func(w http.ResponseWriter, r *http.Request) (func(), bool) { return s.take(w, r, 1) },
		Allow: func(r *http.Request) (page.May, *page.Denied) {
			holder, err := s.cfg.Access.Of(grant.Bearer(r), r.URL.Query().Get("share"), s.cfg.Now())
			if err != nil {
				why := refusalOf(r.Context(), err)
				if why.Reason == access.MissingKey {
					why.Detail = "it opens with a read key, or by a share link" // there is a form for the key
				}
				return nil, &page.Denied{Status: why.status(), Detail: why.Detail, Cause: err}
			}
			return holder, nil
		},
	})
}

// page answers with a page. It reads from the store several times, and counts as one question.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeoutCause(r.Context(), s.cfg.Timeout, errTimeout)
	defer cancel()
	s.pages.ServeHTTP(w, r.WithContext(ctx))
}

// take gives so many places of http.max_in_flight to whoever asks, or refuses.
func (s *Server) take(w http.ResponseWriter, r *http.Request, n int) (release func(), ok bool) {
	who := cmp.Or(grant.Bearer(r), r.URL.Query().Get("share"))
	if s.cfg.Access.Open() { // nobody has looked at these
		at, _ := netip.ParseAddrPort(r.RemoteAddr) // not known: as if all came from one
		who = fair.Customer(at.Addr().Unmap().WithZone("")).String()
	}
	if !s.places.Take(who, n) {
		s.refuse(w, r, &refusal{Reason: overloaded,
			Detail: "as many questions as may be are being answered (http.max_in_flight, of which one client has a part): try again"})
		return nil, false
	}
	s.metrics.inFlight.Inc()
	return func() { s.metrics.inFlight.Dec(); s.places.Release(who, n) }, true
}
