package health

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	probeTimeout = 2 * time.Second
	probeFor     = time.Second // how long a result is kept, so that frequent probes do not become load on a server
)

// Probe asks a server whether it answers, at most once a second. It is safe for concurrent use: callers that come while it asks wait for
// the same answer.
type Probe struct {
	Ask func(context.Context) error // must return when its context ends, after two seconds
	Log *slog.Logger                // is told when an answer fails after one that did not; nil: nobody is

	mu      sync.Mutex
	checked time.Time
	err     error
}

// Check is the latest answer, or a new one.
func (p *Probe) Check() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.checked) < probeFor {
		return p.err
	}
	// Not the request's context: a probe that gives up early must not leave its error for others.
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	before := p.err
	p.err, p.checked = p.Ask(ctx), time.Now()
	if p.err != nil && before == nil && p.Log != nil {
		p.Log.Warn("not ready", "error", p.err)
	}
	return p.err
}
