package doctor

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/consumer/eventlog"
	"footfall/internal/doctor"
	"footfall/internal/kafka/topics"
	"footfall/models"
)

const (
	// deadAge is of which time dead letters are told.
	deadAge = 24 * time.Hour
	// deadRead is how many of them are read for their reasons at the most.
	deadRead = 20_000
)

// deadLetters tells the dead letters of the last day by reason.
func (p *patient) deadLetters(ctx context.Context) doctor.Findings {
	spans, err := p.since(ctx, p.Config.Kafka.Topics.Dead, p.Now().Add(-deadAge))
	if err != nil {
		return refused(err)
	}
	total, read := int64(0), 0
	reasons := map[string]int{}
	for part, span := range spans {
		total += span.To - span.From
		for next := span.From; next < span.To && read < deadRead; {
			letters, err := p.fetch(ctx, part, next)
			if err != nil {
				return refused(err)
			}
			if len(letters) == 0 {
				break // what is left holds no message
			}
			for _, letter := range letters {
				reasons[reasonOf(letter)]++
			}
			read += len(letters)
			next = letters[len(letters)-1].Offset + 1
		}
	}
	config, _ := topics.Config(ctx, p.kafka.Via, p.Config.Kafka.Topics.Dead, maxBytes) // the doctor may lack the permission
	return append(judgeDead(total, read, reasons, p.Config.Kafka.Topics.Dead), judgeDeadSize(config[maxBytes], p.Config.Kafka.Topics.Dead)...)
}

const maxBytes = "max.message.bytes"

// judgeDeadSize judges the topic's largest message. Brokers take 1 MiB by default.
func judgeDeadSize(most, topic string) doctor.Findings {
	if n, err := strconv.Atoi(most); err == nil && n < 2*eventlog.MaxDeadBytes {
		return doctor.Doubtful("raise it to 1048588, so that they can be sent again", "topic %s has %s %d: consumers cut dead letters that are larger", topic, maxBytes, n)
	}
	return nil
}

func judgeDead(total int64, read int, reasons map[string]int, topic string) doctor.Findings {
	if read == 0 {
		return doctor.Fine("there were no dead letters in the last day")
	}
	what := fmt.Sprintf("dead letters of the last day: %d (%s)", read, tally(reasons))
	if read >= deadRead {
		what = fmt.Sprintf("dead letters of the last day: %d at the most (of the first %d: %s)", total, read, tally(reasons))
	}
	return doctor.Doubtful("run consumer replay --since 24h --list: it tells why letters of topic "+topic+" were not counted; mend their sender, then let it"+
		" mend and send them again", "%s", what)
}

func reasonOf(letter kafka.Record) string {
	for _, h := range letter.Headers {
		if h.Key == "reason" {
			return models.Excerpt(string(h.Value))
		}
	}
	return "without a reason"
}

// since finds the offsets of a topic's messages from a moment on.
func (p *patient) since(ctx context.Context, topic string, from time.Time) (map[models.Partition]eventlog.Span, error) {
	n, err := topics.Partitions(ctx, p.kafka.Via, topic)
	if err != nil {
		return nil, err
	}
	ends, err := topics.Ends(ctx, p.kafka.Via, topic, n)
	if err != nil {
		return nil, err
	}
	ask := kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{}}
	for number := range n {
		ask.Topics[topic] = append(ask.Topics[topic], kafka.TimeOffsetOf(number, from))
	}
	answer, err := p.kafka.Via.Client(3*time.Second).ListOffsets(ctx, &ask)
	if err != nil {
		return nil, fmt.Errorf("asking for the offsets of topic %s by time: %w", topic, err)
	}
	spans := map[models.Partition]eventlog.Span{}
	for _, of := range answer.Topics[topic] {
		if of.Error != nil {
			return nil, fmt.Errorf("asking for the offsets of partition %d of topic %s by time: %w", of.Partition, topic, of.Error)
		}
		for offset := range of.Offsets { // none: there is no message that young
			if offset >= 0 {
				spans[models.Partition{Topic: topic, Number: of.Partition}] = eventlog.Span{From: offset, To: ends[of.Partition]}
			}
		}
	}
	return spans, nil
}
