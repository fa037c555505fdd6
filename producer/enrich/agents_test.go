package enrich

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"zgo.at/isbot"
)

// What is remembered must be what the list says, whoever asks at the same time and however many names there are. A memory that
// looked at the place alone would take one agent's answer for another's.
func TestRememberedAgents(t *testing.T) {
	e := open(t, Options{})
	name := func(r *rand.Rand) string {
		n := r.IntN(3 * agentSlots)
		switch n % 3 {
		case 0:
			return fmt.Sprintf("Mozilla/5.0 (X11; Linux x86_64; rv:%d.0) Gecko/20100101 Firefox/%d.0", n, n)
		case 1:
			return fmt.Sprintf("Mozilla/5.0 (compatible; Somebot/%d.0; +http://bot.example/)", n)
		}
		return fmt.Sprintf("curl/%d", n)
	}
	var asking sync.WaitGroup
	for seed := range uint64(4) {
		asking.Go(func() {
			r := rand.New(rand.NewPCG(seed, 1))
			for range 5000 {
				agent := name(r)
				if got, want := e.Bot(http.Header{"User-Agent": {agent}}), isbot.Is(isbot.UserAgent(agent)); got != want {
					t.Errorf("%q: %v, want %v", agent, got, want)
				}
			}
		})
	}
	asking.Wait()
}

// Long names are cut before they are remembered, so that nobody can fill the memory.
func TestRememberedAgentsAreShort(t *testing.T) {
	e := open(t, Options{})
	e.Agent(strings.Repeat("long ", 10_000))
	kept := 0
	for i := range e.agents.slots {
		if known := e.agents.slots[i].Load(); known != nil {
			kept++
			if len(known.agent) > maxAgent {
				t.Errorf("%d bytes are kept", len(known.agent))
			}
		}
	}
	if kept != 1 {
		t.Errorf("%d agents are kept, want 1", kept)
	}
}
