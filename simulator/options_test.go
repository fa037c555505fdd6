package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"footfall/simulator/mock"
)

// theSample is the command line of the simulator's documented example.
const theSample = "-s site1 -g 100 -r facebook.com google.com -p /index.html /index2.html /index3.html -f 2018-10-01 -t 2018-11-01 -n 500"

func TestTheSampleInAllSpellings(t *testing.T) {
	want := mock.Plan{
		Site: "site1", Guids: 100, Visits: 500,
		From: time.Date(2018, 10, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2018, 11, 1, 0, 0, 0, 0, time.UTC),
		Features: []mock.Feature{
			{Name: "feature1", Values: []string{"facebook.com", "google.com"}},
			{Name: "feature2", Values: []string{"/index.html", "/index2.html", "/index3.html"}},
		},
	}
	for _, line := range []string{
		theSample,
		"--site_id site1 --num_guids 100 --referers facebook.com google.com --landing_pages /index.html /index2.html /index3.html --from 2018-10-01 --to 2018-11-01 --num_samples 500",
		"--site_id=site1 --num_guids=100 --referers=facebook.com google.com --landing_pages=/index.html --landing_pages /index2.html /index3.html --from=2018-10-01 --to=2018-11-01 --num_samples=500",
		"-ssite1 -g=100 -rfacebook.com -r google.com -p=/index.html /index2.html -p/index3.html -f2018-10-01 -t=2018-11-01 -n500",
	} {
		o, err := parse(strings.Fields(line))
		o.plan.Seed = 0
		if err != nil || !reflect.DeepEqual(o.plan, want) {
			t.Errorf("%s: %v\n%+v", line, err, o.plan)
		}
	}
}

func TestFeatures(t *testing.T) {
	f := func(more, want string) {
		t.Helper()
		o, err := parse(strings.Fields("-s s -g 1 -n 1 -f 2018-10-01 -t 2018-10-02 -r a b " + more))
		if got := fmt.Sprint(o.plan.Features); err != nil || got != want {
			t.Errorf("%s: %s, %v", more, got, err)
		}
	}
	f("--features 1", "[{feature1 [a b]}]")
	f("--features referer", "[{referer [a b]}]")
	f("-p c", "[{feature1 [a b]} {feature2 [c]}]")
	f("-p c --features 3", "[{feature1 [a b]} {feature2 [c]} {feature3 [feature3-a feature3-b feature3-c]}]")
	f("-p c --features source page device=phone,desktop lang=it", "[{source [a b]} {page [c]} {device [phone desktop]} {lang [it]}]")
}

// A mistake in the options is reported in one line with the exit code of wrong usage, before anything is written or sent.
func TestBadInput(t *testing.T) {
	good := strings.Fields(theSample)
	f := func(args []string, want string) {
		t.Helper()
		dir := t.TempDir()
		var stdout, stderr bytes.Buffer
		err := command(context.Background(), append(args, "--out="+dir), time.Now(), &stdout, &stderr)
		if !errors.Is(err, errUsage) || strings.Contains(fmt.Sprint(err), "\n") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
		files, _ := os.ReadDir(dir)
		if stdout.Len() > 0 || len(files) > 0 {
			t.Errorf("%q: printed %q, wrote %v", args, stdout.String(), files)
		}
	}
	with := func(more ...string) []string { return append(append([]string{}, good...), more...) }
	without := func(name string) (out []string) {
		for i := 0; i < len(good); i++ {
			if good[i] == name {
				for i+1 < len(good) && good[i+1][0] != '-' {
					i++
				}
				continue
			}
			out = append(out, good[i])
		}
		return out
	}
	f(nil, "missing required options: --from, --num_guids, --num_samples, --site_id, --to, --referers")
	f(without("-p"), "missing required options: --landing_pages")
	f(without("-s"), "missing required options: --site_id")
	f([]string{"visits"}, `argument "visits" belongs to no option`)
	f(with("-x"), "unknown option -x")
	f(with("--sites=a"), "unknown option --sites")
	f(with("-s", "b"), "--site_id is given twice")
	f(with("--seed"), "--seed wants a value")
	f(with("--verify=yes"), "--verify takes no value")
	f(append(without("-s"), "-s", "-g"), "--site_id wants a value")
	f(append(without("-s"), "-s="), "--site_id is empty")
	f(append(without("-s"), "-s=a\nb"), "want UTF-8 without control characters")
	f(append(without("-n"), "-n", "many"), `--num_samples "many": want a whole number`)
	f(append(without("-n"), "-n", "-5"), `--num_samples "-5"`)
	f(append(without("-n"), "-n", "99999999999999999999"), "--num_samples")
	f(append(without("-g"), "-g", "0"), "--num_guids")
	f(append(without("-f"), "-f", "2018-02-30"), "want a date as yyyy-MM-dd")
	f(append(without("-t"), "-t", "2018-10-01"), "--to must be after --from")
	f(with("--features", "7"), "want 1 to 6")
	f(with("--features", "a", "b", "a"), "a is given twice")
	f(with("--features", "a", "b;DROP"), "want names of a-z")
	f(with("--features", "a", "guid"), "guid is another field")
	f(with("--features", "select", "page"), "select is a reserved word of CQL or SQL")
	f(with("--features", "siteid", "page"), "siteid is another field")
	f(with("--features", "a", "b", "c="+strings.Repeat("x", 1025)), "a value of c is too long")
	f(append(without("-s"), "-s", strings.Repeat("x", 129)), "--site_id has 129 bytes")
	f(with("--clicks", "5", "--links", strings.Repeat("x", 129)), "--links: the producer takes 128 bytes")
	f(append(without("-f"), "-f", "1973-03-31"), "--from 1973-03-31: the producer takes events from 1973-04-01 on")
	f(append(without("-f"), "-f", "0001-01-01"), "--from 0001-01-01")
	f(append(without("-t"), "-t", "9999-12-31", "--send", "http://127.0.0.1:1"), "--to 9999-12-31 is in the future")
	f(with("--features", "1"), "--landing_pages are the second feature")
	f(with("--zipf", "1"), "--zipf")
	f(with("--zipf", "NaN"), "--zipf")
	f(with("--seed", "-1"), "--seed")
	f(with("--links", "a"), "--clicks")
	f(with("--clicks", "5", "--links", "a", "a"), "given twice")
	f(with("--clicks", "5", "--countries", "Italy"), "two capital letters")
	f(with("--clicks", "5", "-r", "https://a.example/"), "hosts")
	f(with("--clicks", "5", "-r", "a.example/path"), "hosts")
	f(with("--send", "localhost:8080"), "such as http://127.0.0.1:8080")
	f(with("--send", "http://"), "such as http://127.0.0.1:8080")
	f(with("--rate", "5"), "has no effect without --send")
	f(with("--wait", "1m"), "has no effect without --verify")
	f(with("--verify"), "give the --seed")
	f(with("--verify", "--seed=1", "--store=oracle"), "--store is cassandra or embedded")
	f(with("--verify", "--seed=1", "--metrics=year_unique"), `"year_unique": want`)
	f(with("--verify", "--seed=1", "--wait=-1s"), "want a duration")
	if err := command(context.Background(), with("--out=/nowhere/at/all"), time.Now(), &bytes.Buffer{}, &bytes.Buffer{}); !errors.Is(err, errUsage) {
		t.Error(err)
	}
}

func TestTheClosingLineNamesTheFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	run := func(args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if err := command(context.Background(), append(strings.Fields(theSample), args...), time.UnixMilli(1542082422933), &stdout, &stderr); err != nil {
			t.Fatal(err)
		}
		return stdout.String()
	}
	if got, want := run("--seed=1"), "Simulation complete. Check simulated/1542082422933_site1_tables.txt and simulated/1542082422933_site1_visits.csv for results.\n"; got != want {
		t.Errorf("got %q", got)
	}
	visits, err := os.ReadFile("simulated/1542082422933_site1_visits.csv")
	if n := bytes.Count(visits, []byte("\n")); err != nil || n != 501 {
		t.Errorf("%d lines of visits, %v", n, err)
	}
	if err := os.Mkdir("more", 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := run("--seed=1", "--clicks=9", "--out=more"), "Check more/1542082422933_site1_tables.txt, more/1542082422933_site1_visits.csv and more/1542082422933_site1_clicks.csv for"; !strings.Contains(got, want) {
		t.Errorf("got %q", got)
	}
	first, err1 := os.ReadFile("simulated/1542082422933_site1_tables.txt")
	second, err2 := os.ReadFile("more/1542082422933_site1_tables.txt")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	if !bytes.Equal(first, second) {
		t.Error("the same seed made other tables")
	}
}

func TestHelpAndVersion(t *testing.T) {
	for args, want := range map[string]string{"-h": "--num_guids=<numGuids>", "--help": "Usage:", "-V": "footfall simulator", "--version": "footfall simulator", "-hV": "Usage:"} {
		var stdout bytes.Buffer
		if err := command(context.Background(), []string{args}, time.Now(), &stdout, &bytes.Buffer{}); err != nil || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: %v, %q", args, err, stdout.String())
		}
	}
	for _, o := range known {
		if !strings.Contains(usage, "--"+o.long) || o.short != "" && !strings.Contains(usage, "-"+o.short+", --"+o.long) {
			t.Errorf("the help does not tell of --%s", o.long)
		}
	}
}
