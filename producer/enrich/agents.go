package enrich

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"zgo.at/isbot"

	"footfall/models"
)

// agentSlots is how many user agents are cached, of maxAgent bytes each at the most: 2 MB.
const agentSlots = 1 << 12

// agents is a direct-mapped cache of what user agents say: many visitors share few agents, and checking one against the lists
// takes long. Each agent has one slot by its hash, and the latest one asked about occupies it. So memory is bounded, nobody waits
// for a lock, and made-up agents cost others at most a cache miss. It is safe for concurrent use.
type agents struct {
	seed  maphash.Seed // random, so that nobody can aim at another's slot
	slots [agentSlots]atomic.Pointer[Agent]
}

// Agent is what a user agent says.
type Agent struct {
	agent string
	Bot   bool // see Enricher.Agent
	tells models.Agent
}

func newAgents() *agents { return &agents{seed: maphash.MakeSeed()} }

func (a *agents) judge(agent string) *Agent {
	slot := &a.slots[maphash.String(a.seed, agent)%agentSlots]
	if known := slot.Load(); known != nil && known.agent == agent {
		return known
	}
	found := &Agent{agent: strings.Clone(agent), Bot: isbot.Is(isbot.UserAgent(agent))} // a copy: agent may be part of a larger string
	found.tells = tells(agent)
	slot.Store(found)
	return found
}

// Fill fills in what the user agent tells of a click's visitor, unless it is a bot.
func (a *Agent) Fill(c *models.Click) {
	if !c.Bot {
		c.Agent = a.tells
	}
}
