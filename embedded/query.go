package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"footfall/embedded/sqlite"
	"footfall/models"
)

// query runs one SELECT and prints the rows as cqlsh does. If no footfall runs on the data it says so on stderr.
func query(ctx context.Context, dir, sql string, w, stderr io.Writer) error {
	if strings.TrimSpace(sql) == "" {
		return fmt.Errorf("the query is empty; %w", errUsage)
	}
	last, err := sqlite.Changed(dir) // before it is opened
	if err != nil {
		return err
	}
	reader, err := sqlite.OpenReader(dir)
	if err != nil {
		return err
	}
	defer func() { _ = reader.Close() }()     // only read
	if unlock, err := lock(dir); err == nil { // nobody has it
		_ = unlock()
		fmt.Fprintf(stderr, "no footfall runs on %s: its counts are of %s, %s ago\n", dir, last.UTC().Format(time.DateTime), time.Since(last).Round(time.Second))
	}
	table, err := reader.Query(ctx, sql)
	switch {
	case sqlite.IsWrongQuery(err):
		return fmt.Errorf("%s; %w", strings.Join(strings.Fields(err.Error()), " "), errUsage)
	case err != nil:
		return err
	case len(table.Columns) == 0: // a comment, or only a semicolon
		return fmt.Errorf("the query asks for nothing; %w", errUsage)
	}
	_, err = io.WriteString(w, format(table))
	return err
}

// format aligns names to the left and values to the right.
func format(t sqlite.Table) string {
	t = visible(t)
	widths := make([]int, len(t.Columns))
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		for i, value := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(value))
		}
	}
	var b strings.Builder
	line := func(cells []string, separator string) {
		b.WriteString(strings.TrimRight(strings.Join(cells, separator), " ") + "\n")
	}
	names, rule := make([]string, len(widths)), make([]string, len(widths))
	for i, width := range widths {
		names[i] = " " + t.Columns[i] + pad(t.Columns[i], width) + " "
		rule[i] = strings.Repeat("-", width+2)
	}
	line(names, "|")
	line(rule, "+")
	for _, row := range t.Rows {
		cells := make([]string, len(row))
		for i, value := range row {
			cells[i] = " " + pad(value, widths[i]) + value + " "
		}
		line(cells, "|")
	}
	fmt.Fprintf(&b, "\n(%d rows)\n", len(t.Rows))
	return b.String()
}

// visible is the table with control characters escaped, so that no value can control the terminal.
func visible(t sqlite.Table) sqlite.Table {
	out := sqlite.Table{Columns: shown(t.Columns)}
	for _, row := range t.Rows {
		out.Rows = append(out.Rows, shown(row))
	}
	return out
}

func shown(cells []string) []string {
	out := make([]string, len(cells))
	for i, text := range cells {
		out[i] = models.Visible(text)
	}
	return out
}

func pad(value string, width int) string {
	return strings.Repeat(" ", width-utf8.RuneCountInString(value))
}
