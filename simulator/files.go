package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"footfall/simulator/mock"
	"footfall/simulator/tables"
)

// writeFiles writes {timestamp}_{site_id}_tables.txt and _visits.csv, and _clicks.csv if there are clicks, and returns their names.
func writeFiles(o options, now time.Time, visits []mock.Visit, clicks []mock.Click) ([]string, error) {
	var names []string
	write := func(kind string, fill func(io.Writer) error) error {
		// The name of a site may not be possible for a file.
		name := filepath.Join(o.out, fmt.Sprintf("%d_%s_%s", now.UnixMilli(), url.PathEscape(o.plan.Site), kind))
		names = append(names, name)
		return writeFile(name, fill)
	}
	err := errors.Join(
		write("tables.txt", func(w io.Writer) error { return tables.WriteText(w, o.plan.Site, visits) }),
		write("visits.csv", func(w io.Writer) error { return tables.WriteVisits(w, o.plan.Names(), visits) }),
	)
	if len(clicks) > 0 {
		err = errors.Join(err, write("clicks.csv", func(w io.Writer) error { return tables.WriteClicks(w, clicks) }))
	}
	return names, err
}

// writeFile never overwrites a file: it may be the result of another run.
func writeFile(name string, fill func(io.Writer) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return fmt.Errorf("writing results: %w", err)
	}
	return nil
}
