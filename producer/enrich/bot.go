package enrich

import (
	"net/http"
	"strings"

	"footfall/models"
)

// maxAgent is how many bytes of a User-Agent are looked at. No agent has its name further back.
const maxAgent = 512

// Bot tells whether a request comes from anything but a person who follows a link now: a crawler, a library, a preview, a
// prefetch.
func (e *Enricher) Bot(h http.Header) bool { return Prefetch(h) || e.Agent(h.Get("User-Agent")).Bot }

// Agent tells what a user agent says. The list of bots is GoatCounter's (zgo.at/isbot): known names, names that look like a bot's,
// and agents too short to be a browser's, also an empty one. It takes microseconds for an agent that is not cached. The larger
// list of CrawlerDetect takes milliseconds for a long name, which would allow a denial of service.
func (e *Enricher) Agent(agent string) *Agent {
	if len(agent) > maxAgent {
		agent = agent[:maxAgent]
	}
	return e.agents.judge(agent)
}

// Prefetch tells whether a browser or a proxy fetches a page that nobody has asked for yet. Sec-Purpose is today's header
// (prefetch, or prefetch;prerender); Safari says X-Purpose: preview, old Firefox X-Moz: prefetch, old Chrome Purpose.
func Prefetch(h http.Header) bool {
	for _, name := range [...]string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} { // as net/http writes them
		for _, value := range h[name] {
			value = strings.ToLower(value)
			if strings.Contains(value, "prefetch") || strings.Contains(value, "preview") || strings.Contains(value, "prerender") {
				return true
			}
		}
	}
	return false
}

// UserAgent is the header as an event may have it: valid UTF-8, which a header need not be, and not too long.
func UserAgent(r *http.Request) string {
	text := strings.ToValidUTF8(r.UserAgent(), "\uFFFD")
	if len(text) > models.MaxUA {
		text = strings.ToValidUTF8(text[:models.MaxUA], "")
	}
	return text
}
