// Command reader answers questions about counts over HTTP, from the tables that consumers write. It keeps nothing: run as many as you
// like.
package main

import (
	"context"
	"flag"
	"io"
	"os"

	"footfall/configs"
	"footfall/internal/cli"
	"footfall/internal/health"
	"footfall/internal/memlimit"
	"footfall/reader/export"
	_ "footfall/reader/export/parquet" // one more format
)

// action is what a command does.
type action func(ctx context.Context, cfg configs.Reader, line commandLine, stdout, stderr io.Writer) error

// commandLine is what an operator typed.
type commandLine struct {
	file          string
	site, link    string // of share and export
	base, until   string // of share
	month, format string // of export
	out           string
	force         bool
}

// program is what a reader can be asked to do. Flags go into line.
func program(line *commandLine) *cli.Program[action] {
	return &cli.Program[action]{
		Name: "reader", About: "Answers questions about counts over HTTP, from Cassandra.",
		Flags: func(f *flag.FlagSet) {
			f.StringVar(&line.file, "config", "", "a `FILE` with keys of configs/reader.yaml")
		},
		Commands: []cli.Command[action]{
			{Short: "serve until SIGTERM or SIGINT", Run: serve},
			{Name: "share", Args: "--site SITE | --link LINK --until 2026-12-31 [--url URL]", Short: "print a link by which anyone can read one site or link", Long: shareHelp, Run: share,
				Flags: func(f *flag.FlagSet) {
					f.StringVar(&line.site, "site", "", "the `SITE` to share, by its siteId")
					f.StringVar(&line.link, "link", "", "the `LINK` to share, by its short_url")
					f.StringVar(&line.until, "until", "", "when it ends: a `TIME` such as 30d or 12h from now, a day (its end, UTC), or 2026-12-31T18:00:00Z")
					f.StringVar(&line.base, "url", "", "where readers are reached: a `URL` such as https://stats.example; http.addr if not given")
				}, Check: line.completeShare},
			{Name: "export", Args: "--site SITE | --link LINK --month 2026-11 [--format csv|ndjson|parquet] [--out FILE] [--force]", Short: "write a month of a site or link to a file", Long: exportHelp, Run: exportMonth,
				Flags: func(f *flag.FlagSet) {
					f.StringVar(&line.site, "site", "", "the `SITE` to export, by its siteId")
					f.StringVar(&line.link, "link", "", "the `LINK` to export, by its short_url")
					f.StringVar(&line.month, "month", "", "which `MONTH`, of UTC, such as 2026-11")
					f.StringVar(&line.format, "format", string(export.CSV), "csv, ndjson or parquet: the `FORMAT` of the rows. Default: csv")
					f.StringVar(&line.out, "out", "", "the `FILE` to write; - for stdout, with the manifest on stderr. Default: a name such as footfall-site-shop-2026-11.csv, in this folder")
					f.BoolVar(&line.force, "force", false, "replace files that are there")
				}, Check: line.completeExport},
			{Name: "healthz", Short: "ask the reader at http.admin_addr whether it is ready; exit 0 or 1", Run: healthz},
		},
		More: "Every key of configs/reader.yaml can be set in FILE or in the environment (FOOTFALL_HTTP_ADDR, ...).",
	}
}

func main() {
	memlimit.Apply()
	os.Exit(cli.Main("reader", command))
}

// command runs one command line.
func command(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var line commandLine
	c, _, told, err := program(&line).Parse(args, stdout)
	if told || err != nil {
		return err
	}
	cfg, err := configs.LoadReader(line.file)
	if err != nil {
		return err
	}
	return c.Run(ctx, cfg, line, stdout, stderr)
}

func healthz(ctx context.Context, cfg configs.Reader, _ commandLine, _, _ io.Writer) error {
	return health.Ask(ctx, "http.admin_addr", cfg.HTTP.AdminAddr)
}
