package sight

import (
	"context"

	"footfall/consumer/rollup/packed"
)

// underway is a part whose events are decided, and whose rows are on their way to the store. Storing them is mostly waiting: meanwhile
// its events are summed, the next ones are collected, and their visitors are looked up. The part after it takes its visitors for seen. If
// storing fails, an era ends, so all that was decided in it is decided again.
type underway struct {
	*part
	of   *packed.Events // the chunk
	done chan struct{}  // closed when the store has answered
	err  error          // what it answered, once done is closed
}

// begin stores the rows of a part. Only one part is under way.
func (v *Visitors) begin(ctx context.Context, p *part, of *packed.Events, era int) {
	u := &underway{part: p, of: of, done: make(chan struct{})}
	v.mu.Lock()
	v.under = u
	v.mu.Unlock()
	go func() {
		defer close(u.done)
		u.err = v.storeRows(ctx, p)
		v.mu.Lock()
		defer v.mu.Unlock()
		switch {
		case u.err != nil:
			v.era++
		case v.era == era: // else the caches were emptied, and the store may not have the rows any more
			for i, id := range p.ids {
				v.cache.Add(id, p.first[p.missing[i]])
			}
			p.rows.Keep()
		}
	}()
}

// storeRows stores what the store does not have.
func (v *Visitors) storeRows(ctx context.Context, p *part) error {
	if len(p.fresh) > 0 {
		if err := v.store.Remember(ctx, p.fresh, p.at); err != nil {
			return err
		}
	}
	if visitors, firsts := p.rows.Fresh(); len(visitors) > 0 {
		return v.store.RememberFirsts(ctx, visitors, firsts)
	}
	return nil
}

// wait waits until nothing is on its way to the store. It returns an error if rows could not be stored.
func (v *Visitors) wait() error {
	u := v.under // whoever changes it has locked deciding too
	if u == nil {
		return nil
	}
	<-u.done
	v.mu.Lock()
	v.under = nil
	v.mu.Unlock()
	v.reuse(u.part)
	return u.err
}

// Wait waits until nothing is on its way to the store. Call it when nothing more is decided. It returns an error if rows could not be stored.
func (v *Visitors) Wait() error {
	v.deciding.Lock()
	defer v.deciding.Unlock()
	return v.wait()
}
