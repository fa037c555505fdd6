// Package kept judges whether Kafka keeps the events of a topic for as long as counting needs them. It does no I/O.
package kept

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"footfall/models"
)

// RepairTime is how much longer than duplicates.age Kafka has to keep events: settling a doubt may take that long.
const RepairTime = time.Hour

// Problem is something about a topic's configuration that costs events, or the ids and visitors that decide about them, or lets visitors stay.
type Problem struct {
	Setting string // the topic's setting that it is about
	What    string
	Remedy  string
	Refused bool  // consumers refuse the topic; else they warn
	Attrs   []any // more, for a log
}

// The settings of a topic that decide what it deletes, and which times it takes.
const (
	CleanupPolicy  = "cleanup.policy"
	RetentionTime  = "retention.ms"
	RetentionBytes = "retention.bytes"
	TimestampType  = "message.timestamp.type"
	TimestampAfter = "message.timestamp.after.max.ms"
)

// Judge judges a topic that has to keep events for as long as needed. ttl is how long the store keeps rows of its visitors; 0: for ever.
func Judge(topic string, config map[string]string, needed, ttl time.Duration) (found []Problem, err error) {
	command := func(setting string) string {
		return fmt.Sprintf("run kafka-configs.sh --alter --entity-type topics --entity-name %s --add-config %s", topic, setting)
	}
	if limit := config[RetentionBytes]; limit != "" && limit != "-1" {
		found = append(found, Problem{Setting: RetentionBytes, What: "the topic has a size limit, so Kafka may delete events before they are counted, or ids" +
			" younger than duplicates.age", Remedy: "set retention.bytes=-1, so that retention.ms alone decides", Attrs: []any{"retention_bytes", limit}})
	}
	if policy := config[CleanupPolicy]; strings.Contains(policy, "compact") {
		found = append(found, Problem{Setting: CleanupPolicy, Refused: true,
			What:   fmt.Sprintf("topic %s has cleanup.policy=%s: Kafka keeps each visitor's last event only, so others are not counted", topic, policy),
			Remedy: command(CleanupPolicy+"=delete") + "; what Kafka has removed so far is lost"})
	}
	after, bounded := config[TimestampAfter]
	if ms, err := strconv.ParseInt(after, 10, 64); bounded && config[TimestampType] != "LogAppendTime" && (err != nil || ms > models.MaxAhead.Milliseconds()) {
		found = append(found, Problem{Setting: TimestampAfter, What: fmt.Sprintf("whoever writes to topic %s may set its messages' times far ahead (%s %s), and"+
			" visits of months that are not retired for years", topic, TimestampAfter, after), Remedy: command(TimestampAfter + "=3600000")})
	}
	ms, told, err := Retention(topic, config)
	if !told || err != nil {
		return found, err
	}
	// A repair that reads a click whose visitor's row is gone would count it as the visitor's first.
	if most := ttl - RepairTime; ttl > 0 && (ms < 0 || ms > most.Milliseconds()) {
		found = append(found, Problem{Setting: RetentionTime, Refused: true,
			What:   fmt.Sprintf("topic %s keeps its events for %d ms (-1: for ever), but rows of their visitors may go %v after their period", topic, ms, ttl),
			Remedy: "set visitors.ip_ttl to more than retention, an hour and the producers' time.max_age together, or to 0s"})
	}
	if kept := time.Duration(ms) * time.Millisecond; ms >= 0 && ms < needed.Milliseconds() {
		found = append(found, Problem{Setting: RetentionTime, Refused: true,
			What: fmt.Sprintf("topic %s keeps its events for %v, but ids are looked for, and doubts settled, within %v (duplicates.age plus an hour)", topic,
				kept, needed),
			Remedy: command(fmt.Sprintf("%s=%d", RetentionTime, needed.Milliseconds()))})
	}
	return found, nil
}

// Retention is the topic's retention.ms; -1: for ever. told is false if config lacks it.
func Retention(topic string, config map[string]string) (ms int64, told bool, err error) {
	text, told := config[RetentionTime]
	if !told {
		return 0, false, nil
	}
	if ms, err = strconv.ParseInt(text, 10, 64); err != nil {
		err = fmt.Errorf("topic %s has retention.ms %q: %w", topic, text, err)
	}
	return ms, true, err
}
