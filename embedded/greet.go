package main

import (
	"fmt"
	"io"
	"os"
)

// dataDir is data.dir in the environment.
const dataDir = "FOOTFALL_DATA_DIR"

// greet says where the door is and what to try, ready to paste. Who does not hear it is not harmed.
func greet(w io.Writer, addr, dir string, open bool) {
	env := ""
	if set := os.Getenv(dataDir); set != "" { // the query has to find the same data
		env = dataDir + "='" + set + "' "
	}
	who, key := "Anyone who reaches it may write (access.open).", ""
	if !open {
		who, key = "Writing needs a key (access.sites).", "-H 'Authorization: Bearer KEY' "
	}
	_, _ = fmt.Fprintf(w, `footfall counts at http://%[1]s, its data is in %[2]s. Ctrl-C stops it.
%[4]s

Send a click:
  curl -i %[5]s-H 'Content-Type: application/json' -d '{"short_url":"abc","ip":"203.0.113.7","country":"IT"}' http://%[1]s/v1/clicks

Ask for the count, a second later:
  %[3]sgo run ./embedded query "SELECT value FROM urlshortener.clickcounter WHERE short_url = 'abc'"
`, addr, dir, env, who, key)
}
