package rollup

import "errors"

// errLeft: a chunk was left when some of its keys were written, all of them acknowledged. It is not committed, so the next owner reads it again,
// and the ledgers of its keys tell which are written.
var errLeft = errors.New("the rest of the chunk is left to the next owner")

// mayLeave tells whether the group waits for this member, and the next owner can finish the chunk: it must read the ledgers, under the same epoch.
// docs/design/hot-path.md has the chunks that are finished all the same, and why.
func (o *ownership) mayLeave(c *chunk) bool {
	if o.groupWaits == nil || !o.groupWaits() || !o.committedAny || c.half || o.uncertain(c.spans) {
		return false
	}
	for p := range c.spans {
		if o.partitions[p].reached() == 0 {
			return false
		}
	}
	return true
}

// leave notes how far a chunk that is left may be written.
func (o *ownership) leave(c *chunk) error {
	for p, s := range c.spans {
		o.partitions[p].leftTo = s.To
	}
	o.log.Info("leaving the group in the midst of a chunk: its next owner writes the rest", "events", c.events.Len())
	return errLeft
}
