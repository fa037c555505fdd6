package balancer

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/segmentio/kafka-go"
)

// group plays a consumer group whose members come and go.
type group struct {
	members    []kafka.GroupMember
	partitions []kafka.Partition
	topics     []string
	generation int32
	joined     int
}

func newGroup(sizes ...int) *group {
	g := &group{}
	for i, n := range sizes {
		g.addTopic(fmt.Sprint("topic", i), n)
	}
	return g
}

func (g *group) addTopic(name string, partitions int) {
	g.topics = append(g.topics, name)
	for id := range partitions {
		g.partitions = append(g.partitions, kafka.Partition{Topic: name, ID: id})
	}
}

// join adds a member that reads these topics; all if none is given. Where ids are random, newcomers are not always the last.
func (g *group) join(r *rand.Rand, topics ...string) (id string) {
	if len(topics) == 0 {
		topics = slices.Clone(g.topics)
	}
	g.joined++
	id = fmt.Sprintf("%d-%d", r.IntN(1000), g.joined)
	g.members = append(g.members, kafka.GroupMember{ID: id, Topics: topics})
	return id
}

// balance runs one generation: it returns what everybody has and how many partitions moved.
func (g *group) balance(t *testing.T) (has kafka.GroupMemberAssignments, moved int) {
	t.Helper()
	g.generation++
	has = (&Balancer{}).AssignGroups(g.members, g.partitions)
	g.whole(t, has)
	for i, m := range g.members {
		var before owned
		_ = json.Unmarshal(m.UserData, &before) // a newcomer has none
		gen := &kafka.Generation{ID: g.generation, Assignments: map[string][]kafka.PartitionAssignment{}}
		for topic, ids := range has[m.ID] {
			for _, id := range ids {
				gen.Assignments[topic] = append(gen.Assignments[topic], kafka.PartitionAssignment{ID: id})
				if !slices.Contains(before.Partitions[topic], id) {
					moved++
				}
			}
		}
		b := &Balancer{}
		b.Remember(gen)
		data, err := b.UserData()
		if err != nil {
			t.Fatal(err)
		}
		g.members[i].UserData = data
	}
	return has, moved
}

// whole checks that each partition of a topic that somebody reads is given once, to one who reads it, and that each member is told.
func (g *group) whole(t *testing.T, has kafka.GroupMemberAssignments) {
	t.Helper()
	given := map[string]int{}
	for _, m := range g.members {
		if _, told := has[m.ID]; !told {
			t.Fatalf("member %s is not told what it has: %v", m.ID, has)
		}
		for topic, ids := range has[m.ID] {
			for _, id := range ids {
				given[fmt.Sprint(topic, "/", id)]++
			}
			if len(ids) > 0 && !slices.Contains(m.Topics, topic) {
				t.Fatalf("member %s reads %v and got %s", m.ID, m.Topics, topic)
			}
		}
	}
	for _, p := range g.partitions {
		read := slices.ContainsFunc(g.members, func(m kafka.GroupMember) bool { return slices.Contains(m.Topics, p.Topic) })
		if n := given[fmt.Sprint(p.Topic, "/", p.ID)]; n > 1 || read && n != 1 {
			t.Fatalf("partition %d of %s is given %d times: %v", p.ID, p.Topic, n, has)
		}
	}
	if len(has) != len(g.members) {
		t.Fatalf("%d of %d members: %v", len(has), len(g.members), has)
	}
}

func load(has map[string][]int) (n int) {
	for _, ids := range has {
		n += len(ids)
	}
	return n
}

// even checks that the members' numbers differ by one at most, over all topics and in each.
func (g *group) even(t *testing.T, has kafka.GroupMemberAssignments) {
	t.Helper()
	check := func(what string, count func(map[string][]int) int) {
		t.Helper()
		var counts []int
		for _, m := range g.members {
			counts = append(counts, count(has[m.ID]))
		}
		if slices.Max(counts)-slices.Min(counts) > 1 {
			t.Fatalf("%s: the members have %v", what, counts)
		}
	}
	check("all topics", load)
	for _, topic := range g.topics {
		check(topic, func(has map[string][]int) int { return len(has[topic]) })
	}
}

// The reason for all this: each of twelve replicas has work if there are two topics of six partitions.
func TestTwelveMembersOfTwoTopics(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	g := newGroup(6, 6)
	for n := 1; n <= 14; n++ {
		id := g.join(r)
		has, moved := g.balance(t)
		g.even(t, has)
		if n > 1 && moved != load(has[id]) {
			t.Errorf("%d partitions moved when member %d came, which has %d", moved, n, load(has[id]))
		}
		if n == 12 {
			for m, mine := range has {
				if load(mine) != 1 {
					t.Errorf("member %s has %v", m, mine)
				}
			}
		}
	}
	// What kafka-go's own would do: the reason why it is not used.
	idle := 0
	for _, mine := range (kafka.RangeGroupBalancer{}).AssignGroups(g.members[:12], g.partitions) {
		if load(mine) == 0 {
			idle++
		}
	}
	if idle != 6 {
		t.Errorf("with kafka-go's balancer %d members idle: is this one still needed?", idle)
	}
}

// Members come and go by chance. Everything is even at any time. When one member comes, only partitions that it gets move; when one goes, only
// those that it had. With more than two topics evenness may cost a few more, fewer than there are topics. Without a change nothing moves.
func TestMembersComeAndGo(t *testing.T) {
	for seed := range uint64(150) {
		r := rand.New(rand.NewPCG(seed, 2))
		var sizes []int
		for range 1 + r.IntN(4) {
			sizes = append(sizes, 1+r.IntN(12))
		}
		g := newGroup(sizes...)
		for range 1 + r.IntN(8) {
			g.join(r)
		}
		more := 0 // that may move than needed
		if len(sizes) > 2 {
			more = len(sizes) - 1
		}
		has, _ := g.balance(t)
		for range 8 {
			g.even(t, has)
			if again, moved := g.balance(t); moved > 0 {
				t.Fatalf("seed %d: %d partitions moved without a reason: %v, then %v", seed, moved, has, again)
			}
			if gone := r.IntN(len(g.members)); r.IntN(2) == 0 && len(g.members) > 1 {
				needed := load(has[g.members[gone].ID])
				g.members = slices.Delete(g.members, gone, gone+1)
				var moved int
				if has, moved = g.balance(t); moved > needed+more {
					t.Fatalf("seed %d, topics of %v: %d partitions moved when a member went that had %d", seed, sizes, moved, needed)
				}
				continue
			}
			id := g.join(r)
			var moved int
			if has, moved = g.balance(t); moved > load(has[id])+more {
				t.Fatalf("seed %d, topics of %v: %d partitions moved when a member came that got %d", seed, sizes, moved, load(has[id]))
			}
		}
	}
}

// The result depends neither on the order of members and partitions nor on the member that computes it.
func TestEveryLeaderDividesAlike(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 3))
		g := newGroup(1+r.IntN(9), 1+r.IntN(9))
		for range 1 + r.IntN(9) {
			g.join(r)
		}
		g.balance(t)
		g.join(r)
		want := (&Balancer{}).AssignGroups(g.members, g.partitions)
		r.Shuffle(len(g.members), func(i, j int) { g.members[i], g.members[j] = g.members[j], g.members[i] })
		r.Shuffle(len(g.partitions), func(i, j int) { g.partitions[i], g.partitions[j] = g.partitions[j], g.partitions[i] })
		if got := (&Balancer{}).AssignGroups(g.members, append(g.partitions, g.partitions[0])); !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: %v, then %v", seed, want, got)
		}
	}
}

// While a topic grows, some members know its next generation already and others do not. All of it is given, as evenly as that allows: no other
// division is better, by all that there are.
func TestNoDivisionIsBetter(t *testing.T) {
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 4))
		g := newGroup(1+r.IntN(3), 1+r.IntN(3))
		for range 1 + r.IntN(2) {
			g.join(r)
		}
		g.balance(t)
		g.addTopic("topic1-g2", 1+r.IntN(2))
		for range 1 + r.IntN(2) {
			g.join(r) // knows all three
		}
		if r.IntN(3) == 0 {
			g.members = g.members[1:]
		}
		names := slices.Sorted(slices.Values(g.topics))
		before := slices.Clone(g.members)
		has, _ := g.balance(t)
		if got, want := priceOf(before, names, has), g.cheapest(before, names); got != want {
			t.Fatalf("seed %d: %v costs %v, and the best %v", seed, has, got, want)
		}
	}
}

// priceOf is what a division costs, counted anew.
func priceOf(members []kafka.GroupMember, topics []string, has kafka.GroupMemberAssignments) (p price) {
	for _, m := range members {
		var before owned
		_ = json.Unmarshal(m.UserData, &before) // a newcomer has none
		p.sum += load(has[m.ID]) * load(has[m.ID])
		for _, topic := range topics {
			p.topic += len(has[m.ID][topic]) * len(has[m.ID][topic])
			for _, id := range has[m.ID][topic] {
				if !slices.Contains(before.Partitions[topic], id) {
					p.moved++
				}
			}
		}
	}
	return p
}

// cheapest tries every way to give each partition to a member that reads it.
func (g *group) cheapest(members []kafka.GroupMember, topics []string) (best price) {
	has, found := kafka.GroupMemberAssignments{}, false
	for _, m := range members {
		has[m.ID] = map[string][]int{}
	}
	var try func(left []kafka.Partition)
	try = func(left []kafka.Partition) {
		if len(left) == 0 {
			if p := priceOf(members, topics, has); !found || p.less(best) {
				best, found = p, true
			}
			return
		}
		p, read := left[0], false
		for _, m := range members {
			if slices.Contains(m.Topics, p.Topic) {
				read = true
				mine := has[m.ID][p.Topic]
				has[m.ID][p.Topic] = append(mine, p.ID)
				try(left[1:])
				has[m.ID][p.Topic] = mine
			}
		}
		if !read {
			try(left[1:])
		}
	}
	try(g.partitions)
	return best
}

// Of two members that say they had a partition, the one of the later generation had it last. What cannot be read counts as nothing, and
// so do partitions that do not exist.
func TestWhatMembersSay(t *testing.T) {
	data := func(generation int32, ids ...int) []byte {
		text, err := json.Marshal(owned{generation, map[string][]int{"topic0": ids, "gone": {1}}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	g := newGroup(4)
	g.members = []kafka.GroupMember{
		{ID: "a", Topics: g.topics, UserData: data(6, 0, 1)}, // was away for a while
		{ID: "b", Topics: g.topics, UserData: data(7, 1, 2, 99)},
		{ID: "c", Topics: g.topics, UserData: []byte("\x00\x01 of another program")},
		{ID: "d", Topics: []string{"another"}, UserData: data(7, 3)},
	}
	has, _ := g.balance(t)
	if !slices.Contains(has["a"]["topic0"], 0) || slices.Contains(has["a"]["topic0"], 1) || !slices.Contains(has["b"]["topic0"], 1) {
		t.Errorf("partition 1 was b's, and 0 a's: %v", has)
	}
	if got := (&Balancer{}).AssignGroups(nil, g.partitions); len(got) != 0 {
		t.Errorf("without members: %v", got)
	}
	if got := (&Balancer{}).AssignGroups(g.members[:1], nil); len(got) != 1 || load(got["a"]) != 0 {
		t.Errorf("without partitions: %v", got)
	}
}

// A large group does not wait for its leader.
func BenchmarkAssignGroups(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 5))
	g := newGroup(200, 200, 100)
	for range 250 {
		g.join(r)
	}
	for b.Loop() {
		(&Balancer{}).AssignGroups(g.members, g.partitions)
	}
}
