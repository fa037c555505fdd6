package doctor

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"footfall/consumer/eventlog"
	"footfall/consumer/eventlog/kept"
	"footfall/consumer/store"
	"footfall/internal/doctor"
	"footfall/models"
)

// partitions compares topics, partitions and settings with what the tables record, as a starting consumer does.
func (p *patient) partitions(ctx context.Context) doctor.Findings {
	err := p.log.Recognise(ctx, 0)
	if err == nil {
		p.counts, err = p.log.Sources(ctx)
	}
	if err != nil {
		return append(refused(err), p.said.take()...)
	}
	if warnings := p.said.take(); len(warnings) > 0 {
		return warnings
	}
	var parts []string
	for _, topic := range p.counts.Topics() {
		parts = append(parts, fmt.Sprintf("%s %d", topic, p.counts[topic].Partitions()))
	}
	return doctor.Fine("topics, partitions and settings are as the tables record them: %s", strings.Join(parts, ", "))
}

// pause looks whether counting is paused.
func (p *patient) pause(ctx context.Context) doctor.Findings {
	leases, err := p.log.Store.Leases(ctx)
	if err != nil {
		return refused(err)
	}
	for _, l := range leases {
		if l.Kind == store.LeasePause {
			p.paused = l.What
			return doctor.Doubtful("wait until it is over; if nobody knows of it, look for a process of consumer pause", "counting is paused by %s: events wait in Kafka", l.What)
		}
	}
	return doctor.Fine("counting is not paused")
}

// skippedBy says that a check makes no sense while counting is paused.
func skippedBy(pause string) doctor.Findings {
	return doctor.NotChecked("not checked: counting is paused by %s", pause)
}

// eventTopics are the topics that producers write events to.
func (p *patient) eventTopics() []string {
	return slices.DeleteFunc(slices.Clone(p.kafka.Newest()), func(topic string) bool { return topic == p.Config.Kafka.Topics.Dead })
}

func (p *patient) policy(ctx context.Context) doctor.Findings {
	return p.kept(ctx, "Kafka keeps all events, not each visitor's last alone", func(setting string) bool { return setting == kept.CleanupPolicy })
}

func (p *patient) retention(ctx context.Context) doctor.Findings {
	return p.kept(ctx, fmt.Sprintf("Kafka keeps events for longer than %v (duplicates.age plus an hour)", p.Config.Duplicates.Age+eventlog.RepairTime),
		func(setting string) bool { return setting != kept.CleanupPolicy })
}

// kept judges those settings of the topics that about accepts.
func (p *patient) kept(ctx context.Context, fine string, about func(setting string) bool) (findings doctor.Findings) {
	for _, topic := range p.eventTopics() {
		problems, err := p.log.KeptProblems(ctx, topic)
		if err != nil {
			return refused(err)
		}
		for _, problem := range problems {
			switch {
			case !about(problem.Setting):
			case problem.Refused:
				findings.Add(doctor.Faulty(problem.Remedy, "%s", problem.What))
			default:
				findings.Add(doctor.Doubtful(problem.Remedy, "%s (topic %s)", problem.What, topic))
			}
		}
	}
	return findings.OrFine("%s", fine)
}

// versions looks for owners that decide about events otherwise than this binary.
func (p *patient) versions(ctx context.Context) doctor.Findings {
	others, err := eventlog.OwnersOfOtherVersions(ctx, p.log.Store, p.counts.Counts)
	if err != nil {
		return refused(err)
	}
	owners, err := p.log.Store.Owners(ctx)
	if err != nil {
		return refused(err)
	}
	return judgeVersions(owners, others)
}

// judgeVersions judges owners, and those of them that have another decision version than ours.
func judgeVersions(owners, others []store.Owner) doctor.Findings {
	others = slices.DeleteFunc(others, func(o store.Owner) bool { return !eventlog.Held(o) })
	versions := map[int]bool{}
	for _, o := range owners {
		if eventlog.Held(o) {
			versions[eventlog.VersionOf(o.Name)] = true
		}
	}
	switch {
	case len(others) == 0:
		return doctor.Fine("all consumers decide about events by version %d", eventlog.DecisionVersion)
	case len(versions) > 1:
		return refused(fmt.Errorf("%s", eventlog.DescribeOtherVersion(others)))
	}
	return doctor.Doubtful("use the doctor of the consumers' release", "consumer %s decides about events by version %d, and this binary by version %d", others[0].Name,
		eventlog.VersionOf(others[0].Name), eventlog.DecisionVersion)
}

// place is how far a partition is.
type place struct {
	next int64         // where counting goes on
	log  eventlog.Span // what Kafka has, up to the seal if there is one
}

func (at place) lag() int64 { return max(0, at.log.To-max(at.next, at.log.From)) }

// offsets looks for events that consumers refuse to skip, as a consumer does that takes the partitions.
func (p *patient) offsets(ctx context.Context) (findings doctor.Findings) {
	all := p.all()
	committed := map[models.Partition]int64{}
	for _, part := range all {
		to, err := p.log.Store.Committed(ctx, part)
		if err != nil {
			return refused(err)
		}
		committed[part] = to
	}
	group, err := p.log.GroupOffsets(ctx, p.Config.Kafka.Group, all)
	if err != nil {
		return refused(err)
	}
	bounds, err := eventlog.Bounds(ctx, p.log.Kafka, all) // last: it only grows
	if err != nil {
		return refused(err)
	}
	p.places = map[models.Partition]place{}
	for _, part := range all {
		end, sealed := p.counts[part.Topic].End(part.Number)
		if !sealed {
			end = math.MaxInt64
		}
		log := bounds[part]
		if reached := max(group[part].Offset, committed[part]); reached > log.To {
			findings.Add(refused(eventlog.RecreatedTopic(part, reached)))
			continue
		}
		start, lost := eventlog.FindGap(committed[part], group[part], log, p.log.Tables, end)
		if !lost.Empty() {
			findings.Add(refused(eventlog.UncountedGap(part, lost, log)))
		}
		p.places[part] = place{next: start, log: eventlog.Span{From: log.From, To: min(log.To, end)}}
	}
	return findings.OrFine("the log has all events that are not counted yet")
}

// all lists the partitions that are counted.
func (p *patient) all() (list []models.Partition) {
	for _, topic := range p.counts.Topics() {
		list = append(list, p.counts[topic].All()...)
	}
	return list
}

// doubtPatience is how long a doubt may stay open: consumers settle one within minutes.
const doubtPatience = 15 * time.Minute

func (p *patient) doubts(ctx context.Context) doctor.Findings {
	var open []store.Doubt
	for _, part := range p.all() {
		found, err := p.log.Store.Doubts(ctx, part)
		if err != nil {
			return refused(err)
		}
		open = append(open, found...)
	}
	return judgeDoubts(open, p.Now())
}

func judgeDoubts(open []store.Doubt, now time.Time) doctor.Findings {
	if len(open) == 0 {
		return doctor.Fine("no doubt is open")
	}
	oldest := slices.MinFunc(open, func(a, b store.Doubt) int { return a.Since.Compare(b.Since) })
	reasons := map[string]int{}
	for _, d := range open {
		reasons[d.Reason]++
	}
	what := fmt.Sprintf("doubts open: %d (%s); the oldest, about partition %d of topic %s, for %v", len(open), tally(reasons), oldest.Partition.Number,
		oldest.Partition.Topic, now.Sub(oldest.Since).Round(time.Second))
	if now.Sub(oldest.Since) < doubtPatience {
		return doctor.Doubtful("wait: consumers settle doubts within a quarter of an hour", "%s", what)
	}
	return doctor.Faulty("look for \"doubt\" in the consumers' log: a doubt needs running consumers, all replicas in Cassandra, and its events in the log; consumer accept-gap ends those whose events are gone", "%s", what)
}

// tally lists numbers by name, the highest first.
func tally(number map[string]int) string {
	names := slices.Sorted(maps.Keys(number))
	slices.SortStableFunc(names, func(a, b string) int { return number[b] - number[a] })
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %d", name, number[name])
	}
	return strings.Join(names, ", ")
}
