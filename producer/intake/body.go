package intake

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"footfall/producer/admission"
	"footfall/producer/answer"
)

// The media types of the ways in. A request without Content-Type has the first that its handler takes.
const (
	formText  = "application/x-www-form-urlencoded"
	plainText = "text/plain" // what navigator.sendBeacon makes of a string
	jsonText  = "application/json"
	linesText = "application/x-ndjson"
)

// Bodies and answers in memory share http.body_bytes, as slots (admission.NewBodySlots). A body up to freeBody needs none: there
// is at most one per connection. Whoever holds a large slot must send at minRate. Otherwise a few slow senders would keep
// everybody's batches out.
const (
	initialBuffer = 1 << 10 // allocated in advance, for anyone
	freeBody      = 4 << 10 // any common event of two features
	slowEvent     = 8 << 10 // from here on parsing a single event takes a processor as long as a batch does
	freeAnswer    = 50      // events of a batch whose answer needs no slot
	smallAnswer   = 300     // events of a batch whose answer fits into a small slot: max_body's default

	bodyGrace = time.Second // what a sender with a slot may take besides the time for its data
	minRate   = 64 << 10    // bytes a second: 1 MiB, the default of http.batch_bytes, within readTimeout
)

// yieldEvery is after how many events of a batch, about 0.2 ms, other goroutines get the processor. Yielding takes as long as one
// event.
const yieldEvery = 128

// readEvents reads a body and splits it into events.
func (s *server) readEvents(w http.ResponseWriter, r *http.Request, slots *admission.Slots) (raw [][]byte, batch bool, err error) {
	media, err := answer.MediaType(r.Header, jsonText, linesText)
	if err != nil {
		return nil, false, err
	}
	lines := media == linesText
	body, err := s.readBody(w, r, slots, func(beginning []byte) bool { return lines || isArray(beginning) })
	if err == nil && (len(body) > initialBuffer && (lines || isArray(body)) || len(body) > slowEvent) {
		err = slots.Acquire(r.Context(), s.workers)
	}
	switch {
	case err != nil:
	case lines:
		raw, err = splitLines(body, s.cfg.HTTP.BatchEvents)
	case isArray(body):
		raw, err = splitArray(body, s.cfg.HTTP.BatchEvents)
	default:
		return [][]byte{body}, false, nil
	}
	return raw, true, err
}

// isArray tells from the beginning of a JSON text whether it is an array.
func isArray(beginning []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(beginning, " \t\r\n"), []byte("["))
}

// readBody reads and decompresses a body: an event, or with mayBatch a batch.
//
// A request gets no more memory than it has sent data for, and above freeBody only while there are slots. So many slow clients
// can neither use up the memory nor keep the others out. Compressed data is the exception, because a hundred bytes of it can
// become as large as an event may be. So its sender must send at minRate from the first byte on. A gzip bomb is decompressed up
// to the limit and no further.
func (s *server) readBody(w http.ResponseWriter, r *http.Request, slots *admission.Slots, mayBatch func(beginning []byte) bool) ([]byte, error) {
	single, most := s.cfg.HTTP.MaxBody, s.cfg.HTTP.MaxBody
	if mayBatch != nil {
		most = max(most, s.cfg.HTTP.BatchBytes)
	}
	if r.ContentLength > most {
		return nil, answer.TooLarge(most) // before 100 Continue asks the client to send it
	}
	network := newPacedReader(w, http.MaxBytesReader(w, r.Body, most))
	source, zipped, err := decompress(r.Header, network)
	if err != nil {
		return nil, err
	}
	if zipped {
		if err := slots.Acquire(r.Context(), s.smallBodies); err != nil { // the decompressor takes memory, too
			return nil, err
		}
		network.requireRate()
	}
	var buffer bytes.Buffer
	buffer.Grow(bytes.MinRead + int(min(max(r.ContentLength, 0), initialBuffer))) // else it would grow twice for a common event
	for _, step := range [...]struct {
		upTo int64
		slot *admission.Semaphore
	}{{min(freeBody, single), nil}, {single, s.smallBodies}, {most, s.largeBodies}} {
		if step.slot == s.largeBodies && (mayBatch == nil || !mayBatch(buffer.Bytes())) {
			return nil, answer.TooLarge(single)
		}
		if step.slot != nil {
			slots.Release(s.workers) // nobody holds a processor while waiting
			if err := slots.Acquire(r.Context(), step.slot); err != nil {
				return nil, err
			}
			if step.slot == s.largeBodies || step.slot.Scarce() {
				network.requireRate()
			}
			if zipped {
				if err := network.useWorker(r.Context(), slots, s.workers); err != nil {
					return nil, err
				}
			}
		}
		if _, err := buffer.ReadFrom(io.LimitReader(source, step.upTo+1-int64(buffer.Len()))); err != nil {
			return nil, answer.OfRead(err, most)
		}
		if int64(buffer.Len()) <= step.upTo {
			network.finish()
			return buffer.Bytes(), nil
		}
	}
	return nil, answer.TooLarge(most)
}

// pacedReader reads a body from the network. After requireRate the data must come at minRate, or reading times out. It counts
// the bytes on the network: a compressed body gets no more time for being long when decompressed.
type pacedReader struct {
	from  io.Reader
	of    http.ResponseWriter
	until time.Time // when the whole body must be there

	since time.Time // when the rate was first required; zero: it is not
	bytes int64     // read since then

	pause  func()       // gives the worker slot to others while it waits for data; nil: it holds none
	resume func() error // takes the slot again
}

func newPacedReader(w http.ResponseWriter, from io.Reader) *pacedReader {
	return &pacedReader{from: from, of: w, until: time.Now().Add(readTimeout)}
}

func (p *pacedReader) Read(b []byte) (int, error) {
	if p.pause != nil {
		p.pause()
	}
	n, err := p.from.Read(b)
	if !p.since.IsZero() {
		p.bytes += int64(n)
		p.setDeadline()
	}
	if p.pause != nil && err == nil {
		err = p.resume()
	}
	return n, err
}

// useWorker takes a worker slot for decompressing, and gives it back while Read waits for data. The time that others hold the
// slot does not count as the sender's.
func (p *pacedReader) useWorker(ctx context.Context, slots *admission.Slots, workers *admission.Semaphore) error {
	p.pause = func() { slots.Release(workers) }
	p.resume = func() error {
		asked := time.Now()
		defer func() {
			p.since = p.since.Add(time.Since(asked)) // never zero: the rate is always required of compressed data
			p.setDeadline()
		}()
		return slots.Acquire(ctx, workers)
	}
	return p.resume()
}

// requireRate starts to require minRate, or starts again for a sender that had to wait for a slot.
func (p *pacedReader) requireRate() {
	p.since, p.bytes = time.Now(), 0
	p.setDeadline()
}

func (p *pacedReader) setDeadline() {
	next := p.since.Add(bodyGrace + time.Duration(p.bytes)*time.Second/minRate)
	if next.After(p.until) {
		next = p.until
	}
	_ = http.NewResponseController(p.of).SetReadDeadline(next) // httptest's writer has no deadlines
}

// finish ends the required rate: net/http goes on reading, to notice when the client hangs up.
func (p *pacedReader) finish() {
	if p.since.IsZero() {
		return
	}
	_ = http.NewResponseController(p.of).SetReadDeadline(p.until)
}

// decompress undoes the Content-Encoding: gzip or none.
func decompress(h http.Header, body io.Reader) (source io.Reader, zipped bool, err error) {
	switch encoding := strings.ToLower(strings.Join(h.Values("Content-Encoding"), ",")); encoding {
	case "", "identity":
		return body, false, nil
	case "gzip", "x-gzip":
		return &lazyGzip{from: body}, true, nil
	}
	return nil, false, &answer.Refusal{Reason: answer.UnsupportedMedia, Detail: "Content-Encoding must be gzip or absent"}
}

// lazyGzip is a gzip.Reader that reads nothing before the first Read.
type lazyGzip struct {
	from io.Reader
	zip  *gzip.Reader
}

func (u *lazyGzip) Read(p []byte) (n int, err error) {
	if u.zip == nil {
		if u.zip, err = gzip.NewReader(u.from); err != nil {
			u.zip = nil
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF // an empty body is not a complete gzip stream
			}
			return 0, malformedZip(err)
		}
	}
	n, err = u.zip.Read(p)
	return n, malformedZip(err)
}

// malformedZip turns errors of the compressed data into refusals, and leaves errors of the connection alone.
func malformedZip(err error) error {
	var corrupt flate.CorruptInputError
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, io.ErrUnexpectedEOF) || errors.As(err, &corrupt) {
		return &answer.Refusal{Reason: answer.BadGzip, Detail: "the body is not gzip, or is cut off", Cause: err}
	}
	return err
}
