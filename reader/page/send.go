package page

import (
	"encoding/json"
	"fmt"
	"regexp"
)

// clickCommand is a command that sends a click, to be pasted into a shell.
func (h *Handler) clickCommand(link string) string {
	return h.command("/v1/clicks", [][2]string{{"short_url", example(link, "abc")}, {"ip", "203.0.113.7"}, {"country", "IT"}, {"referrer", "news.example"}})
}

// visitCommand is a command that sends a visit with all features of the plan.
func (h *Handler) visitCommand(site string) string {
	fields := [][2]string{{"siteId", example(site, "site1")}, {"guid", "962e0c3a-6c08-4160-9196-f0050faffe62"}}
	values := []string{"news.example", "/index.html"}
	for i, feature := range h.stats.Plan().Features() {
		fields = append(fields, [2]string{feature, values[i%len(values)]})
	}
	return h.command("/v1/visits", fields)
}

// command has one line for the address and one for the event. No value may have a quote: see example.
func (h *Handler) command(path string, fields [][2]string) string {
	key, body := "", ""
	if h.WriteKey {
		key = "-H 'Authorization: Bearer KEY' "
	}
	for i, field := range fields {
		name, _ := json.Marshal(field[0]) // text can always be written
		value, _ := json.Marshal(field[1])
		if i > 0 {
			body += ","
		}
		body += string(name) + ":" + string(value)
	}
	return fmt.Sprintf("curl -X POST %s%s %s-H 'Content-Type: application/json' \\\n  -d '{%s}'", h.Producer(), path, key, body)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9._~-]+$`)

// example is a name for a command that people copy into a shell: only one that no shell reads anything into.
func example(name, otherwise string) string {
	if plainName.MatchString(name) {
		return name
	}
	return otherwise
}
