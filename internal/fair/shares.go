package fair

import "sync"

// Shares divides places among those who want them.
//
// While places are free anybody may take them. When all are taken, there is a reserve for those who hold less than an equal share, so
// that one who holds all places does not keep the others out. Nobody ever holds more than what is left of the reserve, so that
// something is left for the next one. Who is above the equal share gets no place until some are free again. Over time all who want as
// much hold as much. It is not safe for concurrent use.
type Shares[K comparable] struct {
	places, reserve, used int
	holders               map[K]*Share[K]
}

// Share is how many places somebody holds.
type Share[K comparable] struct {
	who  K
	held int
}

// NewShares has so many places, and so many more in reserve.
func NewShares[K comparable](places, reserve int) *Shares[K] {
	return &Shares[K]{places: places, reserve: reserve, holders: map[K]*Share[K]{}}
}

// Of is the share of somebody. The caller calls Release for it, if only for 0 places: that forgets who holds none.
func (s *Shares[K]) Of(who K) *Share[K] {
	of := s.holders[who]
	if of == nil {
		of = &Share[K]{who: who}
		s.holders[who] = of
	}
	return of
}

// May tells whether its holder may have so many places now. Who may have one may have as many as there are: what is large must get its
// turn, too. What is larger than all may have them when none is taken.
func (s *Shares[K]) May(of *Share[K], places int) bool {
	left := s.Total() - s.used
	return (s.used < s.places || of.held < min(max(1, s.places/len(s.holders)), left)) && (places <= left || s.used == 0)
}

// Take takes so many places, or returns false if its holder may not have them now.
func (s *Shares[K]) Take(of *Share[K], places int) bool {
	if !s.May(of, places) {
		return false
	}
	s.used += places
	of.held += places
	return true
}

// TakeReserve is Take for who is known to be alone: it takes the reserve as well.
func (s *Shares[K]) TakeReserve(of *Share[K]) bool {
	if s.used >= s.Total() {
		return false
	}
	s.used++
	of.held++
	return true
}

// Release gives places back.
func (s *Shares[K]) Release(of *Share[K], places int) {
	s.used -= places
	if of.held -= places; of.held == 0 {
		delete(s.holders, of.who)
	}
}

// Used is how many places are taken.
func (s *Shares[K]) Used() int { return s.used }

// Total is how many places there are, with the reserve.
func (s *Shares[K]) Total() int { return s.places + s.reserve }

// Places are Shares for concurrent use.
type Places[K comparable] struct {
	mu     sync.Mutex
	shares *Shares[K]
}

// NewPlaces has n places, a third of them in reserve.
func NewPlaces[K comparable](n int) *Places[K] { return &Places[K]{shares: NewShares[K](n-n/3, n/3)} }

// Take takes so many places for somebody, or returns false. It does not wait.
func (p *Places[K]) Take(who K, places int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.shares.Of(who)
	defer p.shares.Release(of, 0)
	return p.shares.Take(of, places)
}

// Release gives places back.
func (p *Places[K]) Release(who K, places int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shares.Release(p.shares.Of(who), places)
}
