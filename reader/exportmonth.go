package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"footfall/configs"
	"footfall/models"
	"footfall/reader/cassandra"
	"footfall/reader/export"
	"footfall/reader/stats"
)

const exportHelp = `Writes a site's or a link's month to a file, and beside it FILE.manifest.json: what the file has, how many rows, its SHA-256, and
which events of the log are counted in it. Both files appear when they are complete, or not at all.

The rows of a site have a column for each feature (empty: any value), the metric, the start of its hour, day, week or month, and the count.
They are of the site, of each value of each feature, and of combinations of values. Where those could be more than 10,000 they are left out:
the last line and the manifest say which.
The rows of a link have clicks by hour and by day, and amounts by day. After the last row it waits for a few seconds until the consumers
have noted where the log ends. docs/reader.md has more. A running reader gives the same as a ZIP:
/v1/stats/sites/SITE/export?month=2026-11&format=csv.
`

// progressEvery is how often an export says how far it is.
const progressEvery = 3 * time.Second

// exported is what export is asked for.
func (line *commandLine) exported() (what export.What, format export.Format, err error) {
	if err := line.one(); err != nil {
		return what, "", fmt.Errorf("export: %w", err)
	}
	if line.month == "" {
		return what, "", errors.New("export needs --month, such as 2026-11")
	}
	month, err := time.Parse(models.Monthly, line.month)
	at := models.Millis(month.UnixMilli())
	if err != nil || at < models.Earliest || at > models.Latest {
		return what, "", fmt.Errorf("--month %q: want a month such as 2026-11", line.month)
	}
	if format = export.Format(line.format); !slices.Contains(export.Formats, format) {
		return what, "", fmt.Errorf("--format %q: want csv, ndjson or parquet", line.format)
	}
	return export.What{Site: line.site, Link: line.link, Month: at}, format, nil
}

func (line *commandLine) completeExport() error {
	_, _, err := line.exported()
	return err
}

// exportMonth writes a month to a file or to stdout.
func exportMonth(ctx context.Context, cfg configs.Reader, line commandLine, stdout, stderr io.Writer) error {
	what, format, err := line.exported()
	if err != nil {
		return err
	}
	path := line.out
	if path == "" {
		path = what.FileName(format)
	}
	if path != "-" {
		if err := export.Free(path, line.force); err != nil { // before it waits for Cassandra
			return orForce(err)
		}
	}
	store, err := cassandra.Open(ctx, cfg.Cassandra.CassandraClient, cfg.Cassandra.Consistency)
	if err != nil {
		return err
	}
	defer store.Close()
	e, err := export.Begin(ctx, stats.New(store, cfg.Kafka.Topics.Clicks, cfg.Kafka.Topics.Visits), what, format, func() {})
	if err != nil {
		return err
	}
	if path == "-" {
		m, err := e.Write(ctx, stdout)
		if err != nil {
			return fmt.Errorf("the export is not whole: %w", err)
		}
		_, err = stderr.Write(m.JSON()) // alone, so that it can be read by a program
		return err
	}
	stop := tellProgress(e, stderr)
	m, err := e.File(ctx, path, line.force)
	stop()
	if errors.Is(err, export.ErrChanged) {
		return err
	}
	if err != nil && ctx.Err() != nil {
		return errors.New("stopped: nothing was written")
	}
	if err != nil {
		return orForce(fmt.Errorf("nothing was written: %w", err))
	}
	_, err = fmt.Fprintf(stdout, "%s: %d rows, %d bytes; %s says what is in it%s\n", path, m.Rows, m.Bytes, export.ManifestOf(path), leftOut(m))
	return err
}

// leftOut names the combinations of features that are not in the rows.
func leftOut(m export.Manifest) string {
	var sets []string
	for _, c := range m.Combinations {
		if !c.Included {
			sets = append(sets, fmt.Sprintf("%s (%d)", strings.Join(c.Features, " × "), c.Keys))
		}
	}
	if len(sets) == 0 {
		return ""
	}
	return "; left out, since there could be too many: combinations of " + strings.Join(sets, ", ")
}

func orForce(err error) error {
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; --force replaces it, --out FILE takes another name", err)
	}
	return err
}

// tellProgress writes a line every few seconds until it is stopped. An export that takes less says nothing.
func tellProgress(e *export.Export, to io.Writer) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for last := int64(-1); ; {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if rows := e.Rows(); rows != last {
				last = rows
				_, _ = fmt.Fprintf(to, "reader: %d rows\n", rows) // whom else to tell
			} else {
				_, _ = fmt.Fprintf(to, "reader: %d rows; waiting for the store, or for consumers to note where the log ends\n", rows)
			}
		}
	}()
	return func() { close(done); <-ended }
}
