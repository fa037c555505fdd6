package enrich

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"zgo.at/isbot"
)

// agentSlots is how many user agents are cached, of maxAgent bytes each at the most: 2 MB.
const agentSlots = 1 << 12

// agents is a direct-mapped cache of which user agents are bots: many visitors share few agents, and checking one against the list
// takes long. Each agent has one slot by its hash, and the latest one asked about occupies it. So memory is bounded, nobody waits
// for a lock, and made-up agents cost others at most a cache miss. It is safe for concurrent use.
type agents struct {
	seed  maphash.Seed // random, so that nobody can aim at another's slot
	slots [agentSlots]atomic.Pointer[judged]
}

// judged is a cached agent.
type judged struct {
	agent string
	bot   bool
}

func newAgents() *agents { return &agents{seed: maphash.MakeSeed()} }

func (a *agents) bot(agent string) bool {
	slot := &a.slots[maphash.String(a.seed, agent)%agentSlots]
	if known := slot.Load(); known != nil && known.agent == agent {
		return known.bot
	}
	found := &judged{agent: strings.Clone(agent), bot: isbot.Is(isbot.UserAgent(agent))} // a copy: agent may be part of a larger string
	slot.Store(found)
	return found.bot
}
