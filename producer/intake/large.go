package intake

import (
	"context"
	"io"
	"net/http"
	"time"
)

// paced reads a body. Once it is told to hurry, the data has to come at largeRate, and what is late is a timeout. It counts
// what comes over the network: a compressed body is not faster for being long.
type paced struct {
	from  io.Reader
	of    http.ResponseWriter
	until time.Time // when all of it must be there

	hurried time.Time // since when it has to hurry; zero: it has not
	bytes   int64     // since then

	aside  func()       // gives the place in the mill to others while it waits for data; nil: it has none
	resume func() error // takes it again
}

func newPaced(w http.ResponseWriter, from io.Reader) *paced {
	return &paced{from: from, of: w, until: time.Now().Add(readTimeout)}
}

func (p *paced) Read(b []byte) (int, error) {
	if p.aside != nil {
		p.aside()
	}
	n, err := p.from.Read(b)
	if !p.hurried.IsZero() {
		p.bytes += int64(n)
		p.expect()
	}
	if p.aside != nil && err == nil {
		err = p.resume()
	}
	return n, err
}

// grind takes a place in the mill for what is done with the data, but not for waiting for it. How long others have the mill is not
// the sender's time.
func (p *paced) grind(ctx context.Context, in *room, mill *places) error {
	p.aside = func() { in.drop(mill) }
	p.resume = func() error {
		asked := time.Now()
		defer func() {
			p.hurried = p.hurried.Add(time.Since(asked)) // only compressed data comes here, which always has to hurry
			p.expect()
		}()
		return in.take(ctx, mill)
	}
	return p.resume()
}

// hurry begins, or begins anew for whoever was made to wait.
func (p *paced) hurry() {
	p.hurried, p.bytes = time.Now(), 0
	p.expect()
}

func (p *paced) expect() {
	next := p.hurried.Add(largeGrace + time.Duration(p.bytes)*time.Second/largeRate)
	if next.After(p.until) {
		next = p.until
	}
	_ = http.NewResponseController(p.of).SetReadDeadline(next) // a test's writer has none
}

// relax is for when the body is there: net/http goes on reading, to see whether the client hangs up.
func (p *paced) relax() {
	if p.hurried.IsZero() {
		return
	}
	_ = http.NewResponseController(p.of).SetReadDeadline(p.until)
}
