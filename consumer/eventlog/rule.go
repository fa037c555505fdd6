package eventlog

import (
	"context"
	"fmt"

	"footfall/consumer/store"
)

// The rules by which a topic's duplicates are told, as they are recorded.
const (
	RuleByVisitorAndID = "visitor and id"
	RuleByID           = "id" // of all senders; topics that were counted before there was the other
)

// FactRule names the fact that records the rule.
const FactRule = "duplicates.by"

// DuplicatesByID tells the rule of a topic, and records it: what was counted by one rule has to be repaired by it. It must be asked
// before anything else is recorded of a topic: of one that has other facts, but not this, the rule was the old one.
func DuplicatesByID(ctx context.Context, store store.Store, topic string) (bool, error) {
	name := Fact(topic, FactRule)
	rule, err := store.Setting(ctx, name, "")
	if err != nil {
		return false, err
	}
	if rule == "" {
		counted, err := store.Setting(ctx, Fact(topic, "partitions"), "")
		if err != nil {
			return false, err
		}
		rule = RuleByVisitorAndID
		if counted != "" {
			rule = RuleByID
		}
		if rule, err = store.Setting(ctx, name, rule); err != nil {
			return false, err
		}
	}
	if rule != RuleByVisitorAndID && rule != RuleByID {
		return false, fmt.Errorf("topic %s is counted with %s %q, a rule that this version does not know: use the version that has counted it",
			topic, FactRule, rule)
	}
	return rule == RuleByID, nil
}

// CopyRule lets fresh tell a topic's duplicates as live does.
func CopyRule(ctx context.Context, live, fresh store.Store, topic string) error {
	byID, err := DuplicatesByID(ctx, live, topic)
	if err != nil {
		return err
	}
	rule := RuleByVisitorAndID
	if byID {
		rule = RuleByID
	}
	recorded, err := fresh.Setting(ctx, Fact(topic, FactRule), rule)
	if err == nil && recorded != rule {
		err = fmt.Errorf("topic %s is counted with %s %q in the tables in use and with %q in these: drop these, or use another suffix", topic,
			FactRule, rule, recorded)
	}
	return err
}
