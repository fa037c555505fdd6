package enrich

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"zgo.at/isbot"
)

// agentPlaces is how many user agents are remembered, of maxAgent bytes each at the most: 2 MB.
const agentPlaces = 1 << 12

// agents remembers which user agents are bots': the world has few that many visitors share, and the list is long. Each has one
// place, which it shares with others that the hash puts there; the last one asked about has it. So the memory is bounded, nobody
// waits for a lock, and whoever makes names up costs the others at most what each name costs without a memory. It is safe for
// concurrent use.
type agents struct {
	seed   maphash.Seed // nobody else knows whose place is whose
	places [agentPlaces]atomic.Pointer[judged]
}

// judged is what was found out about an agent.
type judged struct {
	agent string
	bot   bool
}

func newAgents() *agents { return &agents{seed: maphash.MakeSeed()} }

func (a *agents) bot(agent string) bool {
	place := &a.places[maphash.String(a.seed, agent)%agentPlaces]
	if known := place.Load(); known != nil && known.agent == agent {
		return known.bot
	}
	found := &judged{agent: strings.Clone(agent), bot: isbot.Is(isbot.UserAgent(agent))} // it may be part of a whole request
	place.Store(found)
	return found.bot
}
