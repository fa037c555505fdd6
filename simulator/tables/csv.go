package tables

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"footfall/simulator/mock"
)

// WriteVisits writes the raw visits as CSV: guid, timestamp in Unix seconds, and the features by name.
func WriteVisits(w io.Writer, names []string, visits []mock.Visit) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("guid,timestamp," + strings.Join(names, ",") + "\n") // Flush returns the error
	for _, v := range visits {
		record(out, append([]string{v.GUID, strconv.FormatInt(v.At.Unix(), 10)}, v.Features...))
	}
	return out.Flush()
}

// WriteClicks writes the raw clicks as CSV.
func WriteClicks(w io.Writer, clicks []mock.Click) error {
	out := bufio.NewWriter(w)
	_, _ = out.WriteString("short_url,ip,timestamp,country,referrer,bot,amount," + strings.Join(mock.AgentDimensions[:], ",") + "\n")
	for _, c := range clicks {
		amount := ""
		if c.Amount != nil {
			amount = strconv.FormatInt(*c.Amount, 10)
		}
		values := []string{c.Link, c.IP, strconv.FormatInt(c.At.Unix(), 10), c.Country, c.Referrer, strconv.FormatBool(c.Bot), amount}
		record(out, append(values, c.Agent.Names[:]...))
	}
	return out.Flush()
}

// record writes one line with every value in quotes, as the documented example has them; encoding/csv quotes only where it must.
func record(out *bufio.Writer, values []string) {
	for i, v := range values {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		_, _ = out.WriteString(`"` + strings.ReplaceAll(v, `"`, `""`) + `"`)
	}
	_ = out.WriteByte('\n')
}
