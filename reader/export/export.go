package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"iter"
	"sync/atomic"
	"time"

	"footfall/internal/cli"
	"footfall/models"
	"footfall/reader/stats"
)

// Wait is how long an export waits at its end for consumers to note where the log ends. They do so every few seconds.
const Wait = 10 * time.Second

// Source is whom an export asks. *stats.Reader is one.
type Source interface {
	Plan() *models.Plan
	SiteMonth(ctx context.Context, site string, month models.Millis) (*stats.SiteMonth, error)
	LinkMonth(ctx context.Context, link string, month models.Millis) (*stats.LinkMonth, error)
}

// What is exported: a month of a site or of a link, one of them.
type What struct {
	Site, Link string
	Month      models.Millis // any moment of it
}

// Export is a month that is being exported. Write can be called once; Rows is safe beside it.
type Export struct {
	AsOf stats.AsOf // how far the counts reach at least

	what    What
	format  Format
	site    *stats.SiteMonth // nil: it is of a link
	columns []Column
	rows    iter.Seq2[[]any, error]
	reading *stats.Reading
	alive   func()
	written atomic.Int64
}

// Begin finds out how far the counts reach. It reads none of them. alive is told whenever the store has answered something, also
// during Write. Errors are those of the source: a *stats.Malformed if there can be no such site, link or month.
func Begin(ctx context.Context, from Source, what What, format Format, alive func()) (*Export, error) {
	e := &Export{what: what, format: format, alive: alive}
	if what.Link != "" {
		m, err := from.LinkMonth(ctx, what.Link, what.Month)
		if err != nil {
			return nil, err
		}
		e.AsOf, e.reading, e.columns, e.rows = m.AsOf, m.Reading, linkColumns(), linkRows(what.Link, m)
		e.what.Month = m.Month
		return e, nil
	}
	m, err := from.SiteMonth(ctx, what.Site, what.Month)
	if err != nil {
		return nil, err
	}
	m.Alive = alive
	e.AsOf, e.reading, e.columns, e.rows = m.AsOf, m.Reading, siteColumns(from.Plan().Features()), siteRows(what.Site, m)
	e.what.Month, e.site = m.Month, m
	return e, nil
}

// Rows is how many rows were written so far.
func (e *Export) Rows() int64 { return e.written.Load() }

// Write writes the rows, and returns the manifest of what it has written. After an error w has a part that is of no use.
func (e *Export) Write(ctx context.Context, w io.Writer) (Manifest, error) {
	sum := &summing{to: w, hash: sha256.New()}
	rows := e.format.writer(sum, e.columns)
	for cells, err := range e.rows {
		if err == nil {
			err = context.Cause(ctx) // also if the store did not notice
		}
		if err == nil {
			err = rows.Row(cells)
		}
		if err != nil {
			return Manifest{}, err
		}
		e.written.Add(1)
	}
	err := rows.Close()
	if err != nil {
		return Manifest{}, err
	}
	m := e.manifest()
	m.Bytes, m.SHA256, m.Reader = sum.n, hex.EncodeToString(sum.hash.Sum(nil)), cli.Version("reader")
	if m.Log, err = e.log(ctx, m.Rows == 0); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// log finds out which events are contained. It must be called after the last row.
func (e *Export) log(ctx context.Context, nothing bool) (_ Log, err error) {
	bounds := e.reading.EndOfNothing()
	if !nothing {
		if bounds, err = e.reading.End(ctx, Wait, e.alive); err != nil {
			return Log{}, fmt.Errorf("finding out which events are contained: %w", err)
		}
	}
	before, after, err := e.reading.Doubts(ctx)
	if err != nil {
		return Log{}, fmt.Errorf("finding out which events are contained: %w", err)
	}
	return logOf(bounds, before, after), nil
}

// summing passes on what is written, and knows its length and SHA-256.
type summing struct {
	to   io.Writer
	hash hash.Hash
	n    int64
}

func (s *summing) Write(text []byte) (int, error) {
	n, err := s.to.Write(text)
	_, _ = s.hash.Write(text[:n]) // it never fails
	s.n += int64(n)
	return n, err
}
