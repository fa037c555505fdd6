package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/internal/doctor"
	"footfall/internal/retry"
	"footfall/models"
)

// group looks at the members and their partitions. A rebalance passes, so it looks again.
func (p *patient) group(ctx context.Context) doctor.Findings {
	if p.paused != "" {
		return skippedBy(p.paused)
	}
	for {
		state, err := p.describeGroup(ctx)
		if err != nil {
			return refused(err)
		}
		if settled(state) {
			return judgeGroup(state, p.all())
		}
		if deadline, _ := ctx.Deadline(); time.Until(deadline) < time.Second || retry.Sleep(ctx, 300*time.Millisecond) != nil {
			return doctor.Faulty("look at the consumers' log: do they come and go (memory), or hang? Then run the doctor again",
				"group %s has been rebalancing for seconds (%s): nothing is counted meanwhile", state.GroupID, state.GroupState)
		}
	}
}

func (p *patient) describeGroup(ctx context.Context) (state kafka.DescribeGroupsResponseGroup, err error) {
	id := p.Config.Kafka.Group
	answer, err := p.log.Kafka.Client(3*time.Second).DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{id}})
	if err == nil && len(answer.Groups) == 1 {
		state = answer.Groups[0]
		err = state.Error
	}
	if errors.Is(err, kafka.GroupIdNotFound) {
		err = nil // as Kafka 4 says of a group that nobody was ever in
	}
	state.GroupID = id
	if err != nil {
		return state, fmt.Errorf("asking for the members of group %s: %w", id, err)
	}
	return state, nil
}

// settled tells whether a group is not between two generations.
func settled(g kafka.DescribeGroupsResponseGroup) bool {
	return len(g.Members) == 0 || g.GroupState == "Stable"
}

// judgeGroup judges who counts these partitions.
func judgeGroup(g kafka.DescribeGroupsResponseGroup, partitions []models.Partition) doctor.Findings {
	if len(g.Members) == 0 {
		return doctor.Faulty("start a consumer; if one was started, its last log line says why it ended", "no consumer runs: group %s has no members, and nothing is counted", g.GroupID)
	}
	owned := map[models.Partition]bool{}
	idle := 0
	for _, m := range g.Members {
		if len(m.MemberAssignments.Topics) == 0 {
			idle++
		}
		for _, t := range m.MemberAssignments.Topics {
			for _, n := range t.Partitions {
				owned[models.Partition{Topic: t.Topic, Number: n}] = true
			}
		}
	}
	var orphans []string
	for _, part := range partitions {
		if !owned[part] {
			orphans = append(orphans, fmt.Sprintf("%s/%d", part.Topic, part.Number))
		}
	}
	switch {
	case len(orphans) > 0:
		return doctor.Faulty("are the members of group "+g.GroupID+" all consumers of footfall, and of one configuration? Restart them one after the other",
			"group %s has %d members, but no one counts partitions %s", g.GroupID, len(g.Members), strings.Join(orphans, ", "))
	case idle > 0:
		return doctor.Doubtful("stop some, or give topics more partitions (consumer grow)", "%d of %d consumers have no partition to count", idle, len(g.Members))
	}
	return doctor.Fine("%d consumers count all %d partitions", len(g.Members), len(partitions))
}

// How long an event may wait before that is worth a warning, and before it is a fault.
const lagPatience, lagFault = time.Minute, time.Hour

// lag tells per topic how many events wait, and for how long the oldest has.
func (p *patient) lag(ctx context.Context) (findings doctor.Findings) {
	var told []string
	for _, topic := range p.counts.Topics() {
		var sum int64
		var oldest time.Time
		for _, part := range p.counts[topic].All() {
			at, known := p.places[part]
			if !known || at.lag() == 0 {
				continue
			}
			sum += at.lag()
			if messages, err := p.fetch(ctx, part, at.next); err == nil && len(messages) > 0 && (oldest.IsZero() || messages[0].Time.Before(oldest)) {
				oldest = messages[0].Time
			}
		}
		if told = append(told, fmt.Sprintf("%s %d", topic, sum)); sum == 0 || oldest.IsZero() {
			continue
		}
		findings.Add(judgeLag(topic, sum, p.Now().Sub(oldest)))
	}
	return findings.OrFine("events that wait: %s", strings.Join(told, ", "))
}

// judgeLag judges events of a topic that wait; nil: that is not long.
func judgeLag(topic string, events int64, age time.Duration) doctor.Findings {
	if age < lagPatience {
		return nil
	}
	const remedy = "docs/runbook.md, When lag grows. Keep the topic's retention longer than that: Kafka would delete events before they are counted"
	judge := doctor.Doubtful
	if age >= lagFault {
		judge = doctor.Faulty
	}
	return judge(remedy, "topic %s has %d events that are not counted; the oldest waits for %v", topic, events, age.Round(time.Second))
}

// fetch reads messages from an offset on: some of what Kafka has, none at the end of the partition.
func (p *patient) fetch(ctx context.Context, part models.Partition, from int64) (messages []kafka.Record, err error) {
	answer, err := p.kafka.Via.Client(3*time.Second).Fetch(ctx, &kafka.FetchRequest{
		Topic: part.Topic, Partition: part.Number, Offset: from, MinBytes: 1, MaxBytes: 1 << 20, MaxWait: 200 * time.Millisecond,
	})
	if err == nil {
		err = answer.Error
	}
	if err != nil {
		return nil, fmt.Errorf("reading partition %d of topic %s: %w", part.Number, part.Topic, err)
	}
	for {
		record, err := answer.Records.ReadRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("reading partition %d of topic %s: %w", part.Number, part.Topic, err)
		}
		messages = append(messages, *record)
	}
	return slices.DeleteFunc(messages, func(r kafka.Record) bool { return r.Offset < from }), nil // a batch may begin earlier
}
