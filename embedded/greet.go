package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"footfall/configs"
)

// dataDir is data.dir in the environment.
const dataDir = "FOOTFALL_DATA_DIR"

// greet prints the producer's address and commands to try. program is how this binary was called. An error in printing is ignored.
func greet(w io.Writer, program string, at addresses, cfg configs.Embedded) {
	env := ""
	if set := os.Getenv(dataDir); set != "" { // the query has to find the same data
		env = dataDir + "='" + set + "' "
	}
	who, key := "Anyone who reaches it may write (access.open).", ""
	if !cfg.Access.Open {
		who, key = "Writing needs a key (access.sites).", "-H 'Authorization: Bearer KEY' "
	}
	if at.admin != "" {
		who += " Metrics are at http://" + at.admin + "/metrics."
	}
	look, browse := "", ""
	if at.reader != "" {
		readKey := ""
		if at.readKey {
			readKey = "-H 'Authorization: Bearer READ_KEY' "
		}
		look = fmt.Sprintf("  curl %s%s/v1/stats/links/abc\n", readKey, at.reader)
		browse = fmt.Sprintf("\nLook at it in a browser: %s\n", at.reader)
	}
	_, _ = fmt.Fprintf(w, `footfall counts at %[1]s, its data is in %[2]s. Ctrl-C stops it.
%[4]s
%[6]s

Send a click:
  curl -i %[5]s-H 'Content-Type: application/json' -d '{"short_url":"abc","ip":"203.0.113.7","country":"IT"}' %[1]s/v1/clicks

Ask for the count, a second later:
%[7]s  %[3]s%[9]s query "SELECT value FROM urlshortener.clickcounter WHERE short_url = 'abc'"
%[8]s`, at.producer, cfg.Data.Dir, env, who, key, kept(cfg), look, browse, program)
}

// kept says how long counted events stay in the log.
func kept(cfg configs.Embedded) string {
	var bounds []string
	if cfg.Data.LogBytes > 0 {
		bounds = append(bounds, fmt.Sprintf("%d MB (data.log_bytes)", cfg.Data.LogBytes>>20))
	}
	if cfg.Data.LogAge > 0 {
		bounds = append(bounds, strings.TrimSuffix(cfg.Data.LogAge.String(), "0m0s")+" (data.log_age)")
	}
	if len(bounds) == 0 {
		return "The log of events is kept for ever."
	}
	return "Events that are counted stay in its log up to " + strings.Join(bounds, " and ") + "; the counts stay for ever."
}
