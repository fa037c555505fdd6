package web

import "sync"

// places are those of http.max_in_flight. One read key or share link has a quarter of them at the most: clients that read slowly keep
// theirs for as long as an answer is streamed, and must not keep everybody else out.
type places struct {
	mu         sync.Mutex
	free, each int
	held       map[string]int // by key or share link
}

func newPlaces(n int) *places { return &places{free: n, each: max(1, n/4), held: map[string]int{}} }

// take waits for nothing. who is empty where everybody may read: then there is nobody to tell apart.
func (p *places) take(who string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == 0 || who != "" && p.held[who] == p.each {
		return false
	}
	p.free--
	p.held[who]++
	return true
}

func (p *places) release(who string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free++
	if p.held[who]--; p.held[who] == 0 {
		delete(p.held, who)
	}
}
