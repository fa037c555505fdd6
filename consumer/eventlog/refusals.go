package eventlog

import (
	"errors"
	"fmt"

	"footfall/models"
)

// Refusal is an error that retrying cannot resolve: an operator has to decide. Its text says what to do.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

// Final says that waiting cannot mend it (internal/retry).
func (r *Refusal) Final() bool { return true }

// Refuse makes a *Refusal, with arguments as for fmt.Sprintf.
func Refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// IsRefusal tells whether err is or wraps a *Refusal.
func IsRefusal(err error) bool {
	var refused *Refusal
	return errors.As(err, &refused)
}

// howToAccept ends each refusal to skip events.
const howToAccept = "To go on without them, stop all consumers and run `consumer accept-gap`"

// RecreatedTopic refuses a partition that ends before the offset up to which it is counted.
func RecreatedTopic(p models.Partition, offset int64) error {
	return Refuse("partition %d of topic %s does not reach offset %d, up to which it is counted: was the topic"+
		" created anew? "+countAnew, p.Number, p.Topic, offset)
}

func truncated(p models.Partition, lost Span) error {
	return Refuse("%v were deleted from Kafka before they were counted: raise the topic's retention. %s", lost.Of(p), howToAccept)
}

// OtherPartitions refuses a topic that has another number of partitions than it was counted with.
func OtherPartitions(topic string, counted, now int) error {
	if now < counted {
		return Refuse("topic %s has partitions %d, but was counted with %d so far. Kafka never removes partitions: was the topic created"+
			" anew? "+countAnew, topic, now, counted)
	}
	base, _ := models.SplitGeneration(topic)
	return Refuse("topic %s has partitions %d, but was counted with %d so far. This cannot change, since a visitor's events have to be"+
		" in one partition: run consumer grow --topic %s --partitions %d (or any other number), which loses nothing",
		topic, now, counted, base, now)
}

// UncountedGap refuses to skip events: lost is what is not counted, log what Kafka still has.
func UncountedGap(p models.Partition, lost, log Span) error {
	if lost.To <= log.From {
		return truncated(p, lost)
	}
	gone := ""
	if lost.From < log.From {
		gone = fmt.Sprintf(", the first %d of which Kafka has deleted,", log.From-lost.From)
	}
	return Refuse("%s%s are not counted in these tables, but the group's offset lies after them: somebody moved it, or counted"+
		" into other tables. Set it back (kafka-consumer-groups.sh --group GROUP --topic %s:%d --reset-offsets --to-offset %d --execute):"+
		" nothing is counted twice by that. %s", lost.Of(p), gone, p.Topic, p.Number, max(lost.From, log.From), howToAccept)
}

func shared(group string, p models.Partition, at GroupOffset, tables string) error {
	return Refuse("group %s counts partition %d of topic %s, now at offset %d, into other tables (set %s, not %s): each set would"+
		" have a part of the events. Give one set a kafka.group of its own. If the other set is gone, or has another group by now: stop all"+
		" consumers of this group and delete its offsets (kafka-consumer-groups.sh --delete --group %s); they go on where these tables say",
		group, p.Number, p.Topic, at.Offset, at.Tables, tables, group)
}

// countAnew ends each refusal of a log that is not the one that was counted.
const countAnew = "These tables cannot go on with this log: count it into new tables with `consumer rebuild`, and use those"

// AnotherLog refuses a log that has another message at an offset than the one that was counted.
func AnotherLog(p models.Partition, offset int64) error {
	return Refuse("offset %d of topic %s, partition %d, is not the event that was counted: Kafka has lost events that it had"+
		" acknowledged (was a leader elected uncleanly?), or the topic was created anew. "+countAnew, offset, p.Topic, p.Number)
}
