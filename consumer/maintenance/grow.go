package maintenance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"footfall/configs"
	"footfall/consumer/eventlog"
	"footfall/consumer/store"
	"footfall/internal/kafka/topics"
	"footfall/internal/retry"
	"footfall/models"
)

// grower makes the next generation of a topic. Each step is idempotent.
type grower struct {
	*eventlog.Log
	base   string
	report Reporter
}

// RunGrow gives base, one of kafka.topics, another number of partitions while producers write. It creates the next generation and seals the
// one in use. It copies messages that consumers do not count in sealed generations to the newest one. It returns when consumers have counted
// the sealed ones, or after wait with an error. A second run continues where the first stopped.
func RunGrow(ctx context.Context, cfg configs.Consumer, store store.Store, base string, partitions int, wait time.Duration, log *slog.Logger, report Reporter) error {
	l, err := eventlog.New(cfg, store, log)
	if err != nil {
		return err
	}
	g := &grower{l, base, report}
	if err := g.CheckTopics(ctx); err != nil {
		return err
	}
	if err := g.grow(ctx, partitions); err != nil {
		return err
	}
	g.Kafka.Forget()
	src, err := g.Sources(ctx)
	if err != nil {
		return err
	}
	if err := g.carryAll(ctx, src); err != nil {
		return err
	}
	if err := g.await(ctx, src, wait); err != nil {
		return err
	}
	if err := g.carryAll(ctx, src); err != nil { // again: a broker may have appended a message just before the seal reached it
		return err
	}
	g.advise(src)
	return nil
}

// grow makes the next generation, or finishes one that an earlier run began.
func (g *grower) grow(ctx context.Context, partitions int) error {
	found, err := topics.Generations(ctx, g.Kafka, g.base)
	if err != nil {
		return err
	}
	newest := found[len(found)-1]
	if newest.Number > 1 {
		old := models.GenerationTopic(g.base, newest.Number-1)
		begun, err := eventlog.ReadSeal(ctx, g.Store, old)
		if err != nil {
			return err
		}
		if begun == nil {
			if newest.Partitions != partitions {
				return fmt.Errorf("growing %s to %d partitions was begun but not finished: run this with --partitions %d first", old,
					newest.Partitions, newest.Partitions)
			}
			return g.seal(ctx, old, newest.Topic)
		}
	}
	counted, err := g.record(ctx, newest.Topic, newest.Partitions)
	if err != nil {
		return err
	}
	if counted == partitions && newest.Partitions == partitions {
		g.report("topic %s has %d partitions already: no next generation is made", newest.Topic, newest.Partitions)
		return nil // RunGrow carries over uncounted messages all the same
	}
	next := models.GenerationTopic(g.base, newest.Number+1)
	if err := topics.CreateLike(ctx, g.Kafka, next, newest.Topic, partitions); err != nil {
		return err
	}
	created, err := topics.Partitions(ctx, g.Kafka, next)
	if err != nil {
		return err
	}
	if created != partitions {
		return fmt.Errorf("another consumer grow has just made %d partitions of %s: run this again", created, g.base)
	}
	if _, err := g.record(ctx, next, partitions); err != nil {
		return err
	}
	g.report("created topic %s with %d partitions", next, partitions)
	return g.seal(ctx, newest.Topic, next)
}

// record records how many partitions a generation is counted with, unless that is recorded, and returns the record. It refuses a topic that
// has fewer now: its seal, which is for good, would lack the ends of the others.
func (g *grower) record(ctx context.Context, topic string, partitions int) (int, error) {
	recorded, err := g.Store.Setting(ctx, eventlog.Fact(topic, "partitions"), strconv.Itoa(partitions))
	if err != nil {
		return 0, err
	}
	counted, err := strconv.Atoi(recorded)
	if err == nil && counted > partitions {
		err = eventlog.OtherPartitions(topic, counted, partitions)
	}
	return counted, err
}

// seal makes Kafka reject writes to a topic, and records where it ends.
func (g *grower) seal(ctx context.Context, topic, next string) error {
	partitions, err := topics.Partitions(ctx, g.Kafka, topic)
	if err != nil {
		return err
	}
	if _, err := g.record(ctx, topic, partitions); err != nil {
		return err
	}
	ends, err := topics.Seal(ctx, g.Kafka, topic)
	if err != nil {
		return err
	}
	s := eventlog.Seal{Ends: make([]int64, len(ends)), At: time.Now().UTC()}
	total := int64(0)
	for p, end := range ends {
		s.Ends[p] = end
		total += end
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if _, err := g.Store.Setting(ctx, eventlog.Fact(topic, eventlog.FactSealed), string(text)); err != nil {
		return err
	}
	g.report("sealed topic %s after %d messages: producers go on with %s", topic, total, next)
	return nil
}

// await returns when all sealed generations are counted.
func (g *grower) await(ctx context.Context, src eventlog.Sources, wait time.Duration) error {
	patient, cancel := context.WithTimeoutCause(ctx, wait, fmt.Errorf("gave up after %v (--wait): the topic is sealed, and consumers go on"+
		" counting; run this again to wait for them", wait))
	defer cancel()
	var told time.Time
	for {
		left, nobody, err := g.left(patient, src)
		if err == nil && left == 0 {
			return nil
		}
		if err == nil && time.Since(told) > ProgressEvery {
			told = time.Now()
			g.report("waiting: %d messages before the seal are not counted yet%s", left, nobody)
		}
		if err == nil {
			err = retry.Sleep(patient, PollInterval)
		}
		if retry.Over(patient) && ctx.Err() == nil {
			return fmt.Errorf("%d messages before the seal are not counted yet%s: %w", left, nobody, context.Cause(patient))
		}
		if err != nil {
			return err
		}
	}
}

// left returns how many messages of sealed generations are not counted yet. nobody is a text for the operator if no consumer runs.
func (g *grower) left(ctx context.Context, src eventlog.Sources) (left int64, nobody string, err error) {
	for _, topic := range g.sealed(src) {
		done, err := eventlog.CountedToSeal(ctx, g.Store, src[topic])
		if err != nil {
			return left, nobody, err
		}
		if done {
			continue
		}
		n, err := eventlog.LeftToSeal(ctx, g.Store, src[topic])
		if err != nil {
			return left, nobody, err
		}
		left += max(n, 1) // 0 if it waits for a generation before it: not done all the same
	}
	if left == 0 {
		return 0, "", nil
	}
	members, err := g.Members(ctx)
	if err == nil && members == 0 {
		nobody = "; nobody counts: the group has no members, start a consumer"
	}
	return left, nobody, err
}

// sealed lists the sealed generations of the base, the oldest first, without deleted ones.
func (g *grower) sealed(src eventlog.Sources) (list []string) {
	for s := src.Newest(g.base).Before; s != nil; s = s.Before {
		if !s.Gone {
			list = append([]string{s.Topic}, list...)
		}
	}
	return list
}

// advise tells the operator when the sealed generations may be deleted.
func (g *grower) advise(src eventlog.Sources) {
	for _, topic := range g.sealed(src) {
		g.report("topic %s is counted to its end. Keep it until %s, when its ids are older than duplicates.age, and as long as"+
			" footfall_doubts_open is above 0 for it; then you may delete it", topic,
			src[topic].Seal.At.Add(g.Config.Duplicates.Age+eventlog.RepairTime).Format(time.DateTime+" MST"))
	}
}

// errSealedToo says that Kafka rejected carried messages, since another run has sealed the newest generation.
var errSealedToo = errors.New("the newest generation is being sealed as well: run this again")
