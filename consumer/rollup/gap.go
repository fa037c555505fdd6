package rollup

import (
	"fmt"

	"footfall/models"
)

// goOn gets ready to go on in a partition that was taken, and whose log is known. next is what the group said, and becomes where to
// begin. It refuses a log that is not the one that was counted, and to leave out events that nobody has counted; forgiving, it
// leaves out those that Kafka has deleted.
func (p *owned) goOn(log span, tables string, forgiving bool) error {
	if p.said.tables != tables || p.next < p.tenure.Committed { // the group has no offset, or it was moved: an owner was further, perhaps
		p.unknown = log.to
	}
	p.clear, p.highWater = log.to, log.to
	if reached := max(p.next, p.tenure.Committed); reached > log.to {
		return recreated(p.tenure.Partition, reached)
	}
	start, lost := p.gap(log, tables)
	if !lost.empty() && (!forgiving || lost.to > log.from) {
		return p.uncounted(lost, log)
	}
	p.next = start
	p.counted.Store(p.next)
	p.confirmed = p.next
	return nil
}

// gap is where to go on, and what nobody is known to have counted of what lies before it. That is: where the group is; else, if Kafka
// has forgotten it, where the last owner was when it last said so in the store; but not before the beginning of the log.
//
// What is counted is known from the store, where owners write how far they are when they leave, and every 30 seconds. One that crashed
// may have been further, and so may one that lost its partition to a paused process: then the group's offset tells, if it has the
// tables' mark. Without a mark it may be anybody's.
func (p *owned) gap(log span, tables string) (start int64, lost span) {
	counted := p.tenure.Committed
	if p.said.tables == tables {
		counted = max(counted, p.next)
	}
	if start = p.next; start < 0 {
		start = counted
	}
	start = max(start, log.from)
	lost = span{counted, start}
	if p.sealed { // what lies beyond the seal is counted elsewhere
		lost.to = min(lost.to, p.end)
	}
	return start, lost
}

// howToAccept ends the refusals to leave out events.
const howToAccept = "To go on without them, stop all consumers and run `consumer accept-gap`"

// of names the events of a partition.
func (s span) of(p models.Partition) string {
	return fmt.Sprintf("%d events of topic %s, partition %d (offsets %d to %d)", s.to-s.from, p.Topic, p.Number, s.from, s.to-1)
}

// uncounted is the refusal to leave out events.
func (p *owned) uncounted(lost, log span) error {
	if lost.to <= log.from {
		return truncated(p.tenure.Partition, lost)
	}
	gone := ""
	if lost.from < log.from {
		gone = fmt.Sprintf(", the first %d of which Kafka has deleted,", log.from-lost.from)
	}
	return &refusal{fmt.Sprintf("%s%s are not counted in these tables, but the group's offset lies after them: somebody moved it, or counted"+
		" into other tables. Set it back (kafka-consumer-groups.sh --reset-offsets --to-offset %d),"+
		" and nothing is counted twice. %s", lost.of(p.tenure.Partition), gone, max(lost.from, log.from), howToAccept)}
}
