package eventlog

import (
	"context"
	"fmt"

	"footfall/consumer/store"
)

// The rules that tell a topic's duplicates, as the store records them.
const (
	ruleByVisitorAndID = "visitor and id"
	ruleByID           = "id" // whoever sent it: topics that were first counted before the other rule existed
)

// factRule is the name of the fact that records the rule.
const factRule = "duplicates.by"

// DuplicatesByID tells whether a topic has the older rule, and records its rule: repairs have to use the rule that counted. It has to be
// called before other facts of a topic are recorded: a topic that has others, but not this one, has the older rule.
func DuplicatesByID(ctx context.Context, store store.Store, topic string) (bool, error) {
	name := Fact(topic, factRule)
	rule, err := store.Setting(ctx, name, "")
	if err != nil {
		return false, err
	}
	if rule == "" {
		counted, err := store.Setting(ctx, Fact(topic, "partitions"), "")
		if err != nil {
			return false, err
		}
		rule = ruleByVisitorAndID
		if counted != "" {
			rule = ruleByID
		}
		if rule, err = store.Setting(ctx, name, rule); err != nil {
			return false, err
		}
	}
	if rule != ruleByVisitorAndID && rule != ruleByID {
		return false, Refuse("topic %s is counted with %s %q, a rule that this version does not know: use the version that counted it",
			topic, factRule, rule)
	}
	return rule == ruleByID, nil
}

// CopyRule records in fresh the rule that live has for a topic. It returns an error if fresh has another one already.
func CopyRule(ctx context.Context, live, fresh store.Store, topic string) error {
	byID, err := DuplicatesByID(ctx, live, topic)
	if err != nil {
		return err
	}
	rule := ruleByVisitorAndID
	if byID {
		rule = ruleByID
	}
	recorded, err := fresh.Setting(ctx, Fact(topic, factRule), rule)
	if err == nil && recorded != rule {
		err = fmt.Errorf("topic %s is counted with %s %q in the tables in use, but with %q in the new ones: drop the new ones, or use another"+
			" --keyspace-suffix", topic, factRule, rule, recorded)
	}
	return err
}
