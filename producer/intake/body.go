package intake

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"footfall/producer/answer"
)

// The media types of the ways in. A request that names none is taken for the first that its way takes.
const (
	formText  = "application/x-www-form-urlencoded"
	plainText = "text/plain" // what navigator.sendBeacon makes of a string
	jsonText  = "application/json"
	linesText = "application/x-ndjson"
)

// smallBody is how much memory anyone may have in advance.
const smallBody = 1 << 10

// mediaOf is the media type of a request, one of those wanted, in UTF-8.
func mediaOf(h http.Header, wanted []string) (string, error) {
	given := h.Get("Content-Type")
	if given == "" {
		return wanted[0], nil
	}
	if slices.Contains(wanted, given) { // as most write it
		return given, nil
	}
	got, params, err := mime.ParseMediaType(given)
	if err != nil || !slices.Contains(wanted, got) {
		return "", &answer.Refusal{Reason: answer.UnsupportedMedia, Detail: "Content-Type must be " + strings.Join(wanted, " or ")}
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return "", &answer.Refusal{Reason: answer.UnsupportedMedia, Detail: "charset must be utf-8"}
	}
	return got, nil
}

// readBody reads and decompresses a body: an event, or with mayBatch a batch.
//
// Nobody gets more memory than it has sent data for, and what is more than most events need only while there is room: slow
// clients, and many of them, cannot use it up, nor keep the others out (places.go). Compressed data is the exception: a hundred
// bytes of it are as much as one event may be. So whoever sends it has to hurry from the first byte on and cannot keep what it
// got. A bomb of zeros is decompressed up to the limit and no further.
func (d *door) readBody(w http.ResponseWriter, r *http.Request, in *room, mayBatch func(beginning []byte) bool) ([]byte, error) {
	single, most := d.cfg.HTTP.MaxBody, d.cfg.HTTP.MaxBody
	if mayBatch != nil {
		most = max(most, d.cfg.HTTP.BatchBytes)
	}
	if r.ContentLength > most {
		return nil, tooLarge(most) // without asking a client that waits for 100 Continue to send it
	}
	network := newPaced(w, http.MaxBytesReader(w, r.Body, most))
	source, zipped, err := decompressed(r.Header, network)
	if err != nil {
		return nil, err
	}
	if zipped {
		if err := in.take(r.Context(), d.small); err != nil { // for what decompresses it, too
			return nil, err
		}
		network.hurry()
	}
	var buffer bytes.Buffer
	buffer.Grow(bytes.MinRead + int(min(max(r.ContentLength, 0), smallBody))) // or it would have to grow twice for a common event
	for _, step := range [...]struct {
		upTo int64
		of   *places
	}{{min(freeBody, single), nil}, {single, d.small}, {most, d.large}} {
		if step.of == d.large && (mayBatch == nil || !mayBatch(buffer.Bytes())) {
			return nil, tooLarge(single)
		}
		if step.of != nil {
			in.drop(d.mill) // nobody waits in there
			if err := in.take(r.Context(), step.of); err != nil {
				return nil, err
			}
			if step.of == d.large || step.of.scarce() {
				network.hurry()
			}
			if zipped {
				if err := network.grind(r.Context(), in, d.mill); err != nil {
					return nil, err
				}
			}
		}
		if _, err := buffer.ReadFrom(io.LimitReader(source, step.upTo+1-int64(buffer.Len()))); err != nil {
			return nil, notRead(err, most)
		}
		if int64(buffer.Len()) <= step.upTo {
			network.relax()
			return buffer.Bytes(), nil
		}
	}
	return nil, tooLarge(most)
}

// decompressed undoes the Content-Encoding: gzip or none.
func decompressed(h http.Header, body io.Reader) (source io.Reader, zipped bool, err error) {
	switch encoding := strings.ToLower(strings.Join(h.Values("Content-Encoding"), ",")); encoding {
	case "", "identity":
		return body, false, nil
	case "gzip", "x-gzip":
		return &unzipping{from: body}, true, nil
	}
	return nil, false, &answer.Refusal{Reason: answer.UnsupportedMedia, Detail: "Content-Encoding must be gzip or absent"}
}

// unzipping is gzip.Reader that reads nothing before it is asked to.
type unzipping struct {
	from io.Reader
	zip  *gzip.Reader
}

func (u *unzipping) Read(p []byte) (n int, err error) {
	if u.zip == nil {
		if u.zip, err = gzip.NewReader(u.from); err != nil {
			u.zip = nil
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // no data at all is no end of good data
			}
			return 0, malformedZip(err)
		}
	}
	n, err = u.zip.Read(p)
	return n, malformedZip(err)
}

// malformedZip names what is wrong with compressed data, and leaves alone what is wrong with the connection.
func malformedZip(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt) {
		return &answer.Refusal{Reason: answer.BadGzip, Detail: "the body is not gzip, or not all of it", Cause: err}
	}
	return err
}

func tooLarge(limit int64) error {
	return &answer.Refusal{Reason: answer.BodyTooLarge, Detail: fmt.Sprintf("at most %d bytes", limit)}
}

// notRead turns an error of reading into an answer.
func notRead(err error, limit int64) error {
	var known *answer.Refusal
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return err
	case errors.As(err, &over):
		return tooLarge(limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &answer.Refusal{Reason: answer.BodyTimeout, Detail: "the body took too long", Cause: err}
	}
	return &answer.Refusal{Reason: answer.IncompleteBody, Detail: "the body ended early or is malformed", Cause: err}
}
