package doctor

import (
	"context"
	"time"

	"footfall/consumer/eventlog"
	"footfall/internal/doctor"
	"footfall/models"
)

// How much clocks may differ before that is worth a warning, and before it is a fault. Consumers write doubts, notices and epochs by their clocks: of
// two rows Cassandra keeps the one that is younger by the clock of its writer.
const clockWarning, clockFault = time.Second, 10 * time.Second

// clocks compares our clock with those of Cassandra's nodes, and with the times of the newest messages, which have their producers' clocks.
func (p *patient) clocks(ctx context.Context) (findings doctor.Findings) {
	for _, n := range p.nodes {
		findings.Add(judgeClock("the clock of Cassandra's node "+n.Address, n.Ahead, n.Within))
	}
	for _, topic := range p.eventTopics() {
		newest, err := p.newestMessage(ctx, topic)
		if err != nil {
			return refused(err)
		}
		if ahead := newest.Sub(p.Now()); !newest.IsZero() && ahead > 0 { // it may be as old as it likes
			findings.Add(judgeClock("the newest message of topic "+topic+", by its producer's clock,", ahead, 0))
		}
	}
	return findings.OrFine("the clocks of %d nodes agree with ours within %v, and no message is from the future", len(p.nodes), clockWarning)
}

// judgeClock judges a clock that is so far ahead of ours, give or take within; nil: it is near enough.
func judgeClock(whose string, ahead, within time.Duration) doctor.Findings {
	off, which := ahead, "ahead of"
	if ahead < 0 {
		off, which = -ahead, "behind"
	}
	if off -= within; off < clockWarning {
		return nil
	}
	judge := doctor.Doubtful
	if off >= clockFault {
		judge = doctor.Faulty
	}
	return judge("synchronise the clocks of all machines (chrony, systemd-timesyncd)", "%s is %v %s the clock of this machine", whose, off.Round(10*time.Millisecond), which)
}

// newestMessage is the time of the newest message that is last in its partition; zero if there is none.
func (p *patient) newestMessage(ctx context.Context, topic string) (newest time.Time, err error) {
	var partitions []models.Partition
	all, err := p.log.AllPartitions(ctx)
	if err != nil {
		return newest, err
	}
	for _, part := range all {
		if part.Topic == topic {
			partitions = append(partitions, part)
		}
	}
	bounds, err := eventlog.Bounds(ctx, p.log.Kafka, partitions)
	if err != nil {
		return newest, err
	}
	for part, log := range bounds {
		if log.Empty() {
			continue
		}
		last, err := p.fetch(ctx, part, log.To-1)
		if err != nil {
			return newest, err
		}
		for _, m := range last {
			if m.Time.After(newest) {
				newest = m.Time
			}
		}
	}
	return newest, nil
}
