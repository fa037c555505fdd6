package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"footfall/reader/export"
	"footfall/reader/stats"
)

// zipType is the media type of an export.
const zipType = "application/zip"

// chooseExport takes the format of the rows that ?format= names. The answer is a ZIP in any case, which Accept must not exclude.
func chooseExport(named, accept string) (export.Format, error) {
	f := export.Format(named)
	if !slices.Contains(export.Formats, f) || quality(accept, []string{zipType}) == 0 {
		return "", &refusal{Reason: notAcceptable, Detail: fmt.Sprintf("this path answers with a ZIP (%s), whose rows are %v", zipType, export.Formats)}
	}
	return f, nil
}

// export answers with a month of a site or link: a ZIP that has the rows and then the manifest. It always asks the store again: there is
// no ETag.
func (s *Server) export(w *recorder, r *http.Request, found *route, q question) {
	ctx, alive, stop := s.inTime(r.Context())
	defer stop()
	b := &zipBody{w: w, r: r, timeout: s.cfg.Timeout, progress: alive}
	rows, err := s.writeExport(ctx, b, found, q, alive)
	s.metrics.rows.Add(float64(rows))
	s.conclude(ctx, w, r, found, err, b.started, rows)
}

func (s *Server) writeExport(ctx context.Context, b *zipBody, found *route, q question, alive func()) (rows int, err error) {
	if !b.r.ProtoAtLeast(1, 1) {
		return 0, &refusal{Reason: needsHTTP11, Detail: "an export is streamed, and HTTP/1.0 cannot tell a part from the whole"}
	}
	what := export.What{Month: q.at}
	if found.about == aLink {
		what.Link = q.name
	} else {
		what.Site = q.name
	}
	e, err := export.Begin(ctx, s.stats, what, q.export, alive)
	if err != nil {
		return 0, err
	}
	b.asOf, b.name = e.AsOf, what.FileName("zip")
	if b.r.Method == http.MethodHead {
		b.header()
		return 0, nil
	}
	pieces := bufio.NewWriterSize(b, piece)
	if err = e.Zip(ctx, struct{ io.Writer }{pieces}); err == nil { // hidden, or archive/zip would flush them
		if !b.started { // it is the only piece
			b.w.Header().Set("Content-Length", strconv.Itoa(pieces.Buffered()))
		}
		err = pieces.Flush()
	}
	return int(e.Rows()), err
}

// zipBody sends an export piece by piece. Nothing is sent before the first piece is full: until then it can be refused.
type zipBody struct {
	w        *recorder
	r        *http.Request
	asOf     stats.AsOf
	name     string // of the file
	timeout  time.Duration
	progress func()
	started  bool
}

func (b *zipBody) header() {
	h := b.w.Header()
	h.Set("Content-Type", zipType)
	h.Set("Cache-Control", "no-store")
	h.Set("Footfall-As-Of", string(asOfJSON(b.asOf)))
	h.Set("Content-Disposition", attached(b.name))
	b.started = true
}

// Write sends a piece.
func (b *zipBody) Write(text []byte) (int, error) {
	if !b.started {
		b.header()
	}
	b.w.Grace = b.timeout
	defer b.progress()
	return b.w.Write(text)
}
