package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"footfall/reader/params"
)

const (
	// piece is how much of an answer is in memory. One that is no larger is sent whole, with its length and an ETag. A larger one is
	// streamed, piece by piece.
	piece = 64 << 10
	// worthZipping is how short an answer may be to be compressed: shorter ones fit into one packet as they are.
	worthZipping = 1 << 10
)

var zippers = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the levels above take a megabyte each
	if err != nil {
		panic(err)
	}
	return z
}}

// body writes one answer.
type body struct {
	w        *recorder
	r        *http.Request
	f        *format
	a        *answer
	name     string        // of the file, if it is to be one
	timeout  time.Duration // for the client to read each piece, once there are several
	progress func()        // told when a piece was sent, so that the next one has as much time

	buf      []byte
	volatile [2]int // of buf
	started  bool   // the header is sent: it is too late for a refusal
	zip      *gzip.Writer
	rows     int
}

// errHead ends an answer to HEAD whose header is sent.
var errHead = errors.New("HEAD has no body")

// write sends the answer. After an error nothing is sent if b.started is false; if it is true the client has a part.
func (b *body) write(ctx context.Context) error {
	b.buf, b.volatile = b.f.encoder.begin(make([]byte, 0, piece+piece/4), b.a)
	if b.a.list != nil {
		for cells, err := range b.a.list.rows {
			if err == nil {
				err = context.Cause(ctx) // also if the store did not notice
			}
			if err != nil {
				return err
			}
			b.buf = b.f.encoder.row(b.buf, b.a.list.columns, cells, b.rows == 0)
			b.rows++
			if len(b.buf) < piece {
				continue
			}
			if err := b.stream(); err != nil {
				return err
			}
		}
	}
	b.buf = b.f.encoder.end(b.buf, b.a)
	if !b.started {
		return b.whole()
	}
	return b.close()
}

// stream sends what there is, and that it is not all.
func (b *body) stream() error {
	if !b.started {
		if !b.r.ProtoAtLeast(1, 1) { // an answer that was cut would look like a whole one
			return &refusal{Reason: needsHTTP11, Detail: "this answer is too large for HTTP/1.0, which cannot tell a part from the whole"}
		}
		b.header()
		b.started, b.w.Grace = true, b.timeout
		if params.AcceptsGzip(b.r.Header.Get("Accept-Encoding")) {
			b.w.Header().Set("Content-Encoding", "gzip")
			b.zip = zippers.Get().(*gzip.Writer)
			b.zip.Reset(b.w)
		}
		b.w.WriteHeader(http.StatusOK)
		if b.r.Method == http.MethodHead {
			return errHead
		}
	}
	return b.send()
}

func (b *body) send() error {
	var err error
	if b.zip != nil {
		_, err = b.zip.Write(b.buf)
	} else {
		_, err = b.w.Write(b.buf)
	}
	b.buf = b.buf[:0]
	b.progress()
	return err
}

func (b *body) close() error {
	if err := b.send(); err != nil || b.zip == nil {
		return err
	}
	return b.zip.Close()
}

// release gives the compressor back.
func (b *body) release() {
	if b.zip != nil {
		b.zip.Reset(io.Discard)
		zippers.Put(b.zip)
	}
}

// whole sends an answer that is complete, or that it has not changed.
func (b *body) whole() error {
	b.header()
	h, tag := b.w.Header(), b.tag()
	h.Set("ETag", tag)
	b.started = true
	if matchesTag(b.r.Header.Get("If-None-Match"), tag) {
		h.Del("Content-Type")
		h.Del("Content-Disposition")
		b.w.WriteHeader(http.StatusNotModified)
		return nil
	}
	text := b.buf
	if len(text) >= worthZipping && params.AcceptsGzip(b.r.Header.Get("Accept-Encoding")) {
		var zipped bytes.Buffer
		b.zip = zippers.Get().(*gzip.Writer)
		b.zip.Reset(&zipped)
		if _, err := b.zip.Write(text); err != nil {
			return err
		}
		if err := b.zip.Close(); err != nil {
			return err
		}
		h.Set("Content-Encoding", "gzip")
		text = zipped.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	b.w.WriteHeader(http.StatusOK)
	_, err := b.w.Write(text)
	return err
}

// header sets what all answers have.
func (b *body) header() {
	h := b.w.Header()
	h.Set("Content-Type", b.f.mediaType)
	h.Set("Cache-Control", "private, no-cache") // may be kept, and has to be asked about each time
	h.Set("Footfall-As-Of", string(asOfJSON(b.a.asOf)))
	if b.a.list != nil && b.a.list.complete != nil {
		h.Set("Footfall-Complete", strconv.FormatBool(*b.a.list.complete))
	}
	if b.f.ending != formats[0].ending {
		h.Set("Content-Disposition", attached(b.name))
	}
}

// tag is the ETag: weak, and of everything but how far counting is, which changes every second while the counts stay. Whoever gets a 304
// has the counts as they are now; the header Footfall-As-Of of the 304 has how far they reach.
func (b *body) tag() string {
	sum := sha256.New()
	_, _ = io.WriteString(sum, b.f.ending+"\n")
	_, _ = sum.Write(b.buf[:b.volatile[0]])
	_, _ = io.WriteString(sum, strconv.FormatBool(b.a.asOf.Counting)+strconv.Itoa(b.a.asOf.Doubts))
	_, _ = sum.Write(b.buf[b.volatile[1]:])
	return `W/"` + hex.EncodeToString(sum.Sum(nil)[:12]) + `"`
}

// matchesTag reads If-None-Match, by weak comparison.
func matchesTag(header, tag string) bool {
	if strings.TrimSpace(header) == "*" {
		return true
	}
	for part := range strings.SplitSeq(header, ",") {
		if strings.TrimPrefix(strings.TrimSpace(part), "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
