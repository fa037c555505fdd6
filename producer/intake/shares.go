package intake

// part is how many slots the events of one tenant hold.
type part struct {
	of   tenant
	held int
}

// partOf is the part of a tenant. The caller holds mu, and releases it.
func (p *publisher) partOf(of tenant) *part {
	s := p.shares[of]
	if s == nil {
		s = &part{of: of}
		p.shares[of] = s
	}
	return s
}

// roomFor tells whether a tenant may have one more slot. While some are free anyone may have them: nobody else wants them. When
// all are taken, half as many again are for tenants that have less than an equal part, so that one who has all of them does not
// keep the others out; and nobody takes the last of these for itself. Whoever has more than its part gets none until slots are
// free again, so that with time all who want as much have as much. The caller holds mu.
func (p *publisher) roomFor(s *part) bool {
	if p.used < p.slots {
		return true
	}
	equal := max(1, p.slots/len(p.shares))
	spare := p.slots + (p.slots+1)/2 - p.used
	return s.held < min(equal, spare)
}

// release gives slots back, and forgets who has none. The caller holds mu.
func (p *publisher) release(s *part, slots int) {
	if s.held -= slots; s.held == 0 {
		delete(p.shares, s.of)
	}
}
