package rollup

import (
	"math"

	"footfall/consumer/eventlog"
)

// startFrom sets next, which is the group's offset, to where counting begins. The partition is taken, and log is its bounds. It refuses a
// log that is not the one that was counted, and a gap of events that nobody has counted. If forgiving, it skips those that Kafka has
// deleted.
func (p *owned) startFrom(log eventlog.Span, tables string, forgiving bool) error {
	if p.said.Tables != tables || p.next < p.tenure.Committed { // the group has no offset, or it was moved: an owner may have been further
		p.unknown = log.To
	}
	p.uncountedFrom, p.highWater = log.To, log.To
	if reached := max(p.next, p.tenure.Committed); reached > log.To {
		return eventlog.RecreatedTopic(p.tenure.Partition, reached)
	}
	start, lost := eventlog.FindGap(p.tenure.Committed, eventlog.GroupOffset{Offset: p.next, Mark: p.said}, log, tables, p.sealEnd())
	if !lost.Empty() && (!forgiving || lost.To > log.From) {
		return eventlog.UncountedGap(p.tenure.Partition, lost, log)
	}
	p.next = start
	p.counted.Store(p.next)
	p.waiting.Start(p.next)
	p.confirmed = p.next
	return nil
}

// sealEnd is where the partition ends for good; math.MaxInt64 if it is not sealed.
func (p *owned) sealEnd() int64 {
	if !p.sealed {
		return math.MaxInt64
	}
	return p.end
}
