package eventlog

import (
	"errors"
	"fmt"

	"footfall/models"
)

// Refusal is an error that trying again cannot mend: an operator has to decide.
type Refusal struct{ text string }

func (r *Refusal) Error() string { return r.text }

// Refuse makes a refusal, as fmt.Sprintf makes a text.
func Refuse(format string, args ...any) error { return &Refusal{fmt.Sprintf(format, args...)} }

// IsRefusal tells whether an operator has to decide.
func IsRefusal(err error) bool {
	var refused *Refusal
	return errors.As(err, &refused)
}

// howToAccept ends the refusals to leave out events.
const howToAccept = "To go on without them, stop all consumers and run `consumer accept-gap`"

// RecreatedTopic is the refusal of a log that is shorter than what was counted of it.
func RecreatedTopic(p models.Partition, offset int64) error {
	return Refuse("partition %d of topic %s does not reach offset %d, up to which it is counted: was the topic"+
		" created anew? "+countAnew, p.Number, p.Topic, offset)
}

func truncated(p models.Partition, lost Span) error {
	return Refuse("%v were deleted from Kafka before they were counted: raise the topic's retention. %s", lost.Of(p), howToAccept)
}

// OtherPartitions is the refusal of a topic that has another number of partitions than it was counted with.
func OtherPartitions(topic string, counted, now int) error {
	if now < counted {
		return Refuse("topic %s has partitions %d, but was counted with %d so far. Kafka takes none away: was the topic created"+
			" anew? "+countAnew, topic, now, counted)
	}
	base, _ := models.SplitGeneration(topic)
	return Refuse("topic %s has partitions %d, but was counted with %d so far, and must be to the end, since a visitor's events"+
		" have to be in one partition: run consumer grow --topic %s --partitions %d (or any other number), which loses nothing",
		topic, now, counted, base, now)
}

// UncountedGap is the refusal to leave out events.
func UncountedGap(p models.Partition, lost, log Span) error {
	if lost.To <= log.From {
		return truncated(p, lost)
	}
	gone := ""
	if lost.From < log.From {
		gone = fmt.Sprintf(", the first %d of which Kafka has deleted,", log.From-lost.From)
	}
	return Refuse("%s%s are not counted in these tables, but the group's offset lies after them: somebody moved it, or counted"+
		" into other tables. Set it back (kafka-consumer-groups.sh --reset-offsets --to-offset %d),"+
		" and nothing is counted twice. %s", lost.Of(p), gone, max(lost.From, log.From), howToAccept)
}

func shared(group string, p models.Partition, at GroupOffset, tables string) error {
	return Refuse("group %s counts partition %d of topic %s, now at offset %d, into other tables (set %s, not %s): each set would"+
		" have a part of the events. Give one of them a kafka.group of its own. Or, if the others are gone or have one now: stop all consumers of"+
		" this group and delete its offsets (kafka-consumer-groups.sh --delete --group %s), and counting goes on where these tables say",
		group, p.Number, p.Topic, at.Offset, at.Tables, tables, group)
}

// countAnew ends the refusals of a log that is not the one that was counted.
const countAnew = "The tables cannot go on with this log: count what it has into new ones with `consumer rebuild`, and use those"

// AnotherLog is the refusal of a log that has another message where one was counted.
func AnotherLog(p models.Partition, offset int64) error {
	return Refuse("offset %d of topic %s, partition %d, is not the event that was counted: Kafka has lost events that it had"+
		" acknowledged (was a leader elected uncleanly?), or the topic was created anew. "+countAnew, offset, p.Topic, p.Number)
}
