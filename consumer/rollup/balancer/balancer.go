// Package balancer divides the partitions of all topics evenly among the members of a consumer group, and moves few of them when members come
// and go.
//
// kafka-go's own balancers divide each topic for itself, beginning with the same member: with two topics of six partitions, members seven to
// twelve get nothing of either. Kafka's assignors for several topics are not in kafka-go.
//
// Counts do not depend on the balancer: an owner is who took a partition last in the store, under an epoch, whatever the group says.
package balancer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/segmentio/kafka-go"
)

// Name is the name of the protocol. All members with this name have to divide alike, since any of them may be the group's leader: a change
// that divides otherwise, or that sends another form of owned, takes another name. For a release members then offer both, or the new ones cannot join
// while an old one is in the group.
const Name = "footfall-even"

// Balancer implements kafka.GroupBalancer for one member. It is safe for concurrent use, and outlives generations of the group.
type Balancer struct {
	mu   sync.Mutex
	last owned
}

// owned is what a member had in the last generation that it knows, as it tells the group's leader.
type owned struct {
	Generation int32            `json:"generation"`
	Partitions map[string][]int `json:"partitions"` // by topic
}

// Remember tells b what the member has in a generation. Call it for each generation.
func (b *Balancer) Remember(gen *kafka.Generation) {
	now := owned{Generation: gen.ID, Partitions: map[string][]int{}}
	for topic, list := range gen.Assignments {
		for _, a := range list {
			now.Partitions[topic] = append(now.Partitions[topic], a.ID)
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = now
}

// ProtocolName implements kafka.GroupBalancer.
func (*Balancer) ProtocolName() string { return Name }

// UserData implements kafka.GroupBalancer. kafka-go calls it for each request to join, after the last generation has ended.
func (b *Balancer) UserData() ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, err := json.Marshal(b.last)
	if err != nil {
		return nil, fmt.Errorf("telling the group what this member had: %w", err)
	}
	return data, nil
}

// AssignGroups implements kafka.GroupBalancer. It depends on nothing but its arguments, and not on their order.
//
// Each partition goes to one of the members that read its topic. Of all ways to do so it takes the one in which, first, the members'
// numbers of partitions are as even as possible; second, those of each topic; third, the fewest partitions move. If all members
// read the same topics, numbers differ by one at most, over all topics and in each.
func (*Balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	members = slices.SortedFunc(slices.Values(members), func(a, b kafka.GroupMember) int { return cmp.Compare(a.ID, b.ID) })
	topics := map[string][]int{}
	for _, p := range partitions {
		topics[p.Topic] = append(topics[p.Topic], p.ID)
	}
	for topic := range topics {
		slices.Sort(topics[topic])
		topics[topic] = slices.Compact(topics[topic])
	}
	names := slices.Sorted(maps.Keys(topics))
	had := claims(members, topics)
	d := newDivision(members, names, had)
	for t, topic := range names {
		for range topics[topic] {
			if !d.place(t) {
				break // nobody reads the topic
			}
		}
	}
	return deal(members, names, topics, had, d)
}

// claims is which member had which partition last: by member and topic. Two members may say that they had the same one, if one was away for
// some generations: then it is the one of the later generation. What a member cannot get is left out.
func claims(members []kafka.GroupMember, topics map[string][]int) []map[string][]int {
	type partition struct {
		topic string
		id    int
	}
	type claim struct {
		member     int
		generation int32
	}
	latest := map[partition]claim{}
	for m, member := range members {
		var said owned
		if json.Unmarshal(member.UserData, &said) != nil {
			continue // nothing that we wrote: it had nothing
		}
		for topic, ids := range said.Partitions {
			if !slices.Contains(member.Topics, topic) {
				continue
			}
			for _, id := range ids {
				p := partition{topic, id}
				if before, taken := latest[p]; taken && before.generation >= said.Generation {
					continue
				}
				if _, there := slices.BinarySearch(topics[topic], id); there {
					latest[p] = claim{m, said.Generation}
				}
			}
		}
	}
	had := make([]map[string][]int, len(members))
	for m := range had {
		had[m] = map[string][]int{}
	}
	for p, c := range latest {
		had[c.member][p.topic] = append(had[c.member][p.topic], p.id)
	}
	for _, byTopic := range had {
		for _, ids := range byTopic {
			slices.Sort(ids)
		}
	}
	return had
}

// deal gives members as many partitions as the division says: first those that they had, then what is left.
func deal(members []kafka.GroupMember, names []string, topics map[string][]int, had []map[string][]int, d *division) kafka.GroupMemberAssignments {
	out := kafka.GroupMemberAssignments{}
	for _, member := range members {
		out[member.ID] = map[string][]int{}
	}
	for t, topic := range names {
		kept := map[int]bool{}
		for m, member := range members {
			keep := had[m][topic][:min(len(had[m][topic]), d.has[m][t])]
			out[member.ID][topic] = slices.Clone(keep)
			for _, id := range keep {
				kept[id] = true
			}
		}
		left := slices.DeleteFunc(slices.Clone(topics[topic]), func(id int) bool { return kept[id] })
		for m, member := range members {
			more := d.has[m][t] - len(out[member.ID][topic])
			out[member.ID][topic] = append(out[member.ID][topic], left[:more]...)
			left = left[more:]
		}
	}
	return out
}
