package balancer

import (
	"cmp"
	"slices"

	"github.com/segmentio/kafka-go"
)

// division is how many partitions of each topic each member gets. It has the least cost of all divisions of what is placed so far.
//
// Partitions of a topic differ only by who had them, so numbers are enough. Finding the best ones is a problem of flows: partitions flow from
// their topics to members. A member that has more pays more for one more, so the cheapest flow is the most even one. place sends one unit
// along the cheapest path, on which members may pass on partitions of other topics. That keeps the flow the cheapest of its size (successive
// shortest paths): no sequence of exchanges makes it cheaper.
type division struct {
	topics int
	reads  [][]bool // by member and topic
	had    [][]int  // by member and topic: how many it had before
	has    [][]int  // by member and topic: how many it gets
	sum    []int    // by member: how many it gets
}

// price is what a step costs: what comes first decides, so numbers of different kinds are never weighed against each other.
type price struct {
	sum   int // by how much it makes the members uneven over all topics
	topic int // by how much it makes them uneven in one topic
	moved int // partitions that move to another member
}

func (p price) plus(q price) price { return price{p.sum + q.sum, p.topic + q.topic, p.moved + q.moved} }

func (p price) less(q price) bool {
	return cmp.Or(cmp.Compare(p.sum, q.sum), cmp.Compare(p.topic, q.topic), cmp.Compare(p.moved, q.moved)) < 0
}

func newDivision(members []kafka.GroupMember, topics []string, had []map[string][]int) *division {
	d := &division{topics: len(topics), sum: make([]int, len(members))}
	for m, member := range members {
		reads, before := make([]bool, len(topics)), make([]int, len(topics))
		for t, topic := range topics {
			reads[t], before[t] = slices.Contains(member.Topics, topic), len(had[m][topic])
		}
		d.reads, d.had, d.has = append(d.reads, reads), append(d.had, before), append(d.has, make([]int, len(topics)))
	}
	return d
}

// give is the price of one more partition of a topic for a member. The sum of squares is the smallest if numbers are even, and n² grows by 2n+1.
func (d *division) give(m, t int) price {
	p := price{topic: 2*d.has[m][t] + 1}
	if d.has[m][t] >= d.had[m][t] {
		p.moved = 1
	}
	return p
}

// take is the price of one partition less: what the last one cost.
func (d *division) take(m, t int) price {
	p := price{topic: 1 - 2*d.has[m][t]}
	if d.has[m][t] > d.had[m][t] {
		p.moved = -1
	}
	return p
}

// path is the cheapest known way for one more partition of the first topic to get to a topic or a member.
type path struct {
	price price
	from  int // the topic before a member, or the member before a topic; -1: the path begins here
	known bool
}

// place adds one partition of a topic at the least price. It returns false if nobody reads the topic.
func (d *division) place(topic int) bool {
	members := d.cheapest(topic)
	best := -1
	var least price
	for m, p := range members.to {
		if total := p.price.plus(price{sum: 2*d.sum[m] + 1}); p.known && (best < 0 || total.less(least)) {
			best, least = m, total
		}
	}
	if best < 0 {
		return false
	}
	d.sum[best]++
	for m := best; ; {
		t := members.to[m].from
		d.has[m][t]++
		before := members.topics[t].from
		if before < 0 {
			return true
		}
		d.has[before][t]--
		m = before
	}
}

// ways are the cheapest paths to all topics and members.
type ways struct{ topics, to []path }

// cheapest finds the paths from a topic by Bellman and Ford: a step may have a negative price, but no circle has.
func (d *division) cheapest(topic int) ways {
	w := ways{topics: make([]path, d.topics), to: make([]path, len(d.has))}
	w.topics[topic] = path{from: -1, known: true}
	for changed := true; changed; {
		changed = false
		for m := range d.has {
			for t, read := range d.reads[m] {
				if !read {
					continue
				}
				if p := w.topics[t].price.plus(d.give(m, t)); w.topics[t].known && (!w.to[m].known || p.less(w.to[m].price)) {
					w.to[m], changed = path{p, t, true}, true
				}
				if p := w.to[m].price.plus(d.take(m, t)); d.has[m][t] > 0 && w.to[m].known && (!w.topics[t].known || p.less(w.topics[t].price)) {
					w.topics[t], changed = path{p, m, true}, true
				}
			}
		}
	}
	return w
}
