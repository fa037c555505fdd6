package web

import (
	"sync"

	"footfall/internal/fair"
)

// places are those of http.max_in_flight, shared by read keys and share links, or where everybody may read by addresses: clients that read slowly keep theirs for as long as an
// answer is streamed, and must not keep everybody else out. A third of them is in reserve for whoever has less than others.
type places struct {
	mu     sync.Mutex
	shares *fair.Shares[string] // by key, share link or address
}

func newPlaces(n int) *places { return &places{shares: fair.NewShares[string](n-n/3, n/3)} }

// take waits for nothing.
func (p *places) take(who string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	share := p.shares.Of(who)
	defer p.shares.Release(share, 0)
	return p.shares.Take(share, n)
}

func (p *places) release(who string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shares.Release(p.shares.Of(who), n)
}
