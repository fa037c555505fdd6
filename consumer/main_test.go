package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/consumer/deadletters"
	"footfall/consumer/maintenance"
	"footfall/consumer/replay"
	"footfall/test/harness"
)

func TestCommandLine(t *testing.T) {
	f := func(want commandLine, wantErr string, args ...string) {
		t.Helper()
		_, got, _, err := parse(args, io.Discard)
		if wantErr != "" {
			if err == nil || !strings.Contains(err.Error(), wantErr) {
				t.Errorf("parse(%q): %v, want %q", args, err, wantErr)
			}
			return
		}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parse(%q) = %+v, %v; want %+v", args, got, err, want)
		}
	}
	const wait = 30 * time.Minute
	f(commandLine{compare: true, wait: wait}, "")
	f(commandLine{compare: true, wait: wait, file: "x.yaml"}, "", "--config", "x.yaml")
	f(commandLine{compare: true, wait: wait, name: "migrate", file: "x.yaml"}, "", "migrate", "--config", "x.yaml")
	f(commandLine{compare: true, wait: wait, name: "migrate", patience: 10 * time.Minute}, "", "migrate", "--wait", "10m")
	f(commandLine{compare: true, wait: wait, name: "audit", repair: true}, "", "audit", "--repair")
	f(commandLine{compare: true, wait: wait, name: "audit", repair: true, file: "x.yaml"}, "", "--config", "x.yaml", "audit", "--repair")
	f(commandLine{compare: true, wait: wait, name: "audit", resume: true}, "", "audit", "--resume")
	f(commandLine{}, "--resume belongs to audit", "retire", "--before", "2026-01", "--resume")
	f(commandLine{}, "unknown argument", "count")
	f(commandLine{}, "unknown argument", "audit", "everything")
	f(commandLine{}, "--repair belongs to audit", "--repair")
	f(commandLine{}, "not defined", "--bogus")
	f(commandLine{compare: true, wait: time.Minute, name: "retire", force: true, before: 1767225600000}, "", "retire", "--before", "2026-01", "--wait", "1m", "--force")
	f(commandLine{}, "needs --before", "retire")
	f(commandLine{}, "--before belongs to retire", "audit", "--before", "2026-01")
	f(commandLine{}, "want a month", "retire", "--before", "January")
	f(commandLine{}, "want a month", "retire", "--before", "2026-01-01")
	f(commandLine{}, "is not over", "retire", "--before", "9999-01")
	f(commandLine{compare: true, wait: time.Minute, name: "grow", topic: "visits", partitions: 12}, "",
		"grow", "--topic", "visits", "--partitions", "12", "--wait", "1m")
	f(commandLine{}, "grow needs --topic and --partitions", "grow", "--topic", "visits")
	f(commandLine{}, "grow needs --topic and --partitions", "grow", "--partitions", "12")
	f(commandLine{}, "want a number of at least 1", "grow", "--topic", "visits", "--partitions", "0")
	f(commandLine{}, "--topic belongs to grow", "audit", "--topic", "visits")
	f(commandLine{}, "--wait belongs to grow, migrate, pause and retire", "audit", "--wait", "1m")
	f(commandLine{compare: true, wait: wait, name: "forget", guids: []string{"a", "b"}, ips: []string{"203.0.113.7", "2001:db8::1"}}, "",
		"forget", "--guid", "a", "--guid", "b", "--ip", "::ffff:203.0.113.7", "--ip", "2001:DB8:0::1")
	f(commandLine{}, "needs --guid or --ip", "forget")
	f(commandLine{}, "--guid is empty", "forget", "--guid", "")
	f(commandLine{}, "neither an IP address nor the hash", "forget", "--ip", "203.0.113")
	f(commandLine{compare: true, wait: wait, name: "rebuild", suffix: "_v2", visits: "v.csv", site: "s"}, "",
		"rebuild", "--keyspace-suffix", "_v2", "--from-file", "v.csv", "--site", "s")
	f(commandLine{wait: wait, name: "rebuild", suffix: "_v2", visits: "v.csv"}, "",
		"rebuild", "--keyspace-suffix", "_v2", "--from-file", "v.csv", "--compare=false")
	f(commandLine{}, "needs --keyspace-suffix", "rebuild")
	f(commandLine{compare: true, wait: wait, name: "accept-gap"}, "", "accept-gap")
	f(commandLine{compare: true, wait: wait, name: "accept-gap", atMost: 7}, "", "accept-gap", "--at-most", "7")
	f(commandLine{}, "want a number of events", "accept-gap", "--at-most", "0")
	f(commandLine{compare: true, wait: wait, name: "pause"}, "", "pause")
	f(commandLine{compare: true, wait: wait, name: "pause", patience: time.Minute, limit: time.Hour, rest: []string{"nodetool", "--wait", "x"}}, "",
		"pause", "--wait", "1m", "--for", "1h", "--", "nodetool", "--wait", "x")
	f(commandLine{}, "want a time such as", "pause", "--for", "0s")
	f(commandLine{}, "--for belongs to pause", "retire", "--for", "1m")
	f(commandLine{}, "belongs to accept-gap", "audit", "--at-most", "7")
	f(commandLine{compare: true, wait: wait, name: "doctor"}, "", "doctor")
	f(commandLine{compare: true, wait: wait, name: "doctor", producer: "http://p", named: true, keyFile: "k", json: true, metric: "-"}, "",
		"doctor", "--producer", "http://p", "--key-file", "k", "--json", "--metric", "-")
	f(commandLine{compare: true, wait: wait, name: "doctor", named: true}, "", "doctor", "--producer=")
	f(commandLine{}, "--json belongs to doctor", "audit", "--json")
	f(commandLine{compare: true, wait: wait, name: "replay"}, "", "replay")
	scale, rename := mendRule(t, deadletters.Scale, "ts=1000"), mendRule(t, deadletters.Rename, "page=feature1")
	f(commandLine{compare: true, wait: wait, name: "replay", json: true, again: replay.Options{
		Select: deadletters.Selection{Reasons: []string{"a", "b"}, Topics: []string{"visits"}, Keys: []string{"shop"}, Since: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)},
		Rules:  deadletters.Rules{scale, rename}, Send: true, Rate: 0.5, Limit: 7,
	}}, "", "replay", "--reason", "a", "--reason", "b", "--scale", "ts=1000", "--topic", "visits", "--key", "shop", "--since", "2026-11-30",
		"--rename", "page=feature1", "--send", "--rate", "0.5", "--limit", "7", "--json")
	f(commandLine{}, "--rename \"page\": want OLD=NEW", "replay", "--rename", "page")
	f(commandLine{}, "--since \"soon\": want a date", "replay", "--since", "soon")
	f(commandLine{}, "--rate \"0\": want a number", "replay", "--rate", "0")
	f(commandLine{}, "--limit \"-1\": want a number", "replay", "--limit", "-1")
	f(commandLine{compare: true, wait: wait, name: "replay", again: replay.Options{Ahead: time.Hour}}, "", "replay", "--max-ahead", "1h")
	f(commandLine{}, "--max-ahead \"soon\": want a duration", "replay", "--max-ahead", "soon")
	f(commandLine{}, "--max-ahead \"0s\": want a duration", "replay", "--max-ahead", "0s")
	f(commandLine{}, "--send belongs to replay", "audit", "--send")
	f(commandLine{}, "not \"Version 2\"", "rebuild", "--keyspace-suffix", "Version 2")
	f(commandLine{}, "belong to --from-file", "rebuild", "--keyspace-suffix", "_v2", "--compare=false")
	f(commandLine{}, "belong to --from-file", "rebuild", "--keyspace-suffix", "_v2", "--site", "s")
	f(commandLine{}, "want a time such as 30m", "retire", "--before", "2026-01", "--wait", "0s")
}

func mendRule(t *testing.T, kind, text string) deadletters.Rule {
	t.Helper()
	r, err := deadletters.ParseRule(kind, text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestStoredAddresses(t *testing.T) {
	now := time.Date(2026, 12, 1, 0, 30, 0, 0, time.UTC)
	// printf %s 203.0.113.7 | openssl dgst -sha256 -hmac 0123456789abcdef
	const hashed = "e25e7aa15f18e79a3fd02a8fa35b11c2ad014cb9998c114e682d6e9c821ad6b7"
	if got := stored([]string{"203.0.113.7"}, configs.Privacy{Secret: "0123456789abcdef"}, now); !slices.Equal(got, []string{"203.0.113.7", hashed}) {
		t.Errorf("with a secret: %q", got)
	}
	// A visitor of IPv6 is its network, and was the address itself before.
	six := []string{"2001:db8:1:2::7"}
	if got, want := stored(six, configs.Privacy{IPv6Prefix: 64}, now), []string{"2001:db8:1:2::7", "2001:db8:1:2::"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := stored(six, configs.Privacy{IPv6Prefix: 64, Secret: "0123456789abcdef"}, now); len(got) != 4 {
		t.Errorf("with a secret: %q", got)
	}
	if got := stored(six, configs.Privacy{IPv6Prefix: 128}, now); !slices.Equal(got, six) {
		t.Errorf("where each address is a visitor: %q", got)
	}
	if got := stored([]string{"203.0.113.7", hashed}, configs.Privacy{}, now); !slices.Equal(got, []string{"203.0.113.7", hashed}) {
		t.Errorf("without: %q", got)
	}
	// The same with the key of November 2026, and of its 16th: see enrich.VisitorIP.
	for rotate, want := range map[string]string{"monthly": "2026-11:43ec218e15daf6fe7a4c4dbce18152221c04f187a6b30299", "daily": "2026-11-16:94125adf949798935bc98a6c71ec62368fdc837e03c1468c"} {
		got := stored([]string{"203.0.113.7"}, configs.Privacy{Secret: "0123456789abcdef", Rotate: rotate}, now)
		once := map[string]bool{}
		for _, name := range got {
			once[name] = true
		}
		if got[2+map[string]int{"monthly": 1, "daily": 15}[rotate]] != want || len(once) != len(got) {
			t.Errorf("%s: %q", rotate, got)
		}
	}
}

func TestUsage(t *testing.T) {
	var out bytes.Buffer
	if err := command(t.Context(), []string{"--help"}, &out, &out); err != nil || !strings.HasPrefix(out.String(), "Usage: consumer [COMMAND]") {
		t.Errorf("help: %v, %q", err, out.String())
	}
	whole := out.String()
	for _, c := range program(&commandLine{}).Commands {
		if !strings.Contains(whole, c.Short+"\n") {
			t.Errorf("nothing about %q in %s", c.Name, whole)
		}
		out.Reset()
		if err := command(t.Context(), []string{c.Name, "--help"}, &out, &out); c.Name != "" && (err != nil || !strings.HasPrefix(out.String(), "Usage: consumer "+c.Name)) {
			t.Errorf("help of %s: %v, %q", c.Name, err, out.String())
		}
	}
	out.Reset()
	if err := command(t.Context(), []string{"--version"}, &out, &out); err != nil || !strings.HasPrefix(out.String(), "footfall consumer ") {
		t.Errorf("version: %v, %q", err, out.String())
	}
}

// A comparison that leaves something out fails.
func TestJudge(t *testing.T) {
	f := func(c maintenance.Comparison, want string) {
		t.Helper()
		err := judge(c, func(string, ...any) {})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	f(maintenance.Comparison{}, "") // there is nothing
	f(maintenance.Comparison{Keys: 2, Cells: 9, Foreign: 1}, "")
	f(maintenance.Comparison{Keys: 2, Cells: 9, Differ: 1, Busy: 1}, "the tables differ")
	f(maintenance.Comparison{Keys: 2, Cells: 9, Busy: 1}, "not all could be compared")
	f(maintenance.Comparison{Foreign: 3}, "nothing could be compared")
}

// TestBadInput: exit code 2 and one line on stderr.
func TestBadInput(t *testing.T) {
	f := func(want, env string, args ...string) {
		t.Helper()
		cmd := harness.Self(t, "consumer", []string{"FOOTFALL_CASSANDRA_PORT=1", env}, args...)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		err := cmd.Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 2 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s %q: %v, want exit code 2 and one line with %q: %s", env, args, err, want, errs.String())
		}
	}
	visits := func(text string) string {
		name := filepath.Join(t.TempDir(), "visits.csv")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	f("unknown argument", "", "count")
	f("no-such-file.yaml", "", "--config", "no-such-file.yaml")
	f("FOOTFALL_KAFKA_BROKER", "FOOTFALL_KAFKA_BROKER=typo")
	f(`FOOTFALL_CHUNK_MAX_EVENTS is "many": want a number`, "FOOTFALL_CHUNK_MAX_EVENTS=many")
	f("chunk.max_events", "FOOTFALL_CHUNK_MAX_EVENTS=0", "audit")
	f("guid is the name", "FOOTFALL_FEATURES=referrer,guid", "migrate")
	f("http.addr", "FOOTFALL_HTTP_ADDR=nowhere")
	f("cassandra.keyspace_suffix", "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=Ä", "migrate")
	f("cassandra.tls", "FOOTFALL_CASSANDRA_TLS_CA=ca.pem")
	f("kafka.sasl", "FOOTFALL_KAFKA_SASL_USERNAME=me")
	f("cassandra.in_flight", "FOOTFALL_CASSANDRA_IN_FLIGHT=0")
	f("retire needs --before", "", "retire")
	f("consumer: --before \"soon\": want a month as YYYY-MM; see consumer --help\n", "", "retire", "--before", "soon")
	f("consumer: --before \"2026-13\": want a month as YYYY-MM; see", "", "retire", "--before", "2026-13")
	f("consumer: --before 1970-01: visits are after March 1973; see", "", "retire", "--before", "1970-01")
	f("the month before it is not over", "", "retire", "--before", "9999-01")
	f("consumer: --wait \"x\": want a time such as 30m or 2h; see", "", "retire", "--before", "2026-01", "--wait", "x")
	f("--guid belongs to forget", "", "retire", "--before", "2026-01", "--guid", "a")
	f("want clicks or visits", "", "grow", "--topic", "visit", "--partitions", "12")
	f("--partitions \"many\": want a number", "", "grow", "--topic", "visits", "--partitions", "many")
	f("forget needs --guid or --ip", "", "forget")
	f("--guid is empty", "", "forget", "--guid", "")
	f("consumer: --ip \"somebody\" is neither an IP address", "", "forget", "--ip", "somebody")
	f("rebuild needs --keyspace-suffix", "", "rebuild")
	f("not \"Version 2\"", "", "rebuild", "--keyspace-suffix", "Version 2")
	f("belong to --from-file", "", "rebuild", "--keyspace-suffix", "_v2", "--site", "s")
	f(`extraneous or missing "`, "", "rebuild", "--keyspace-suffix", "_v2", "--site", "s", "--from-file", visits("guid,timestamp\n\"a"))
	f("line 2: bad_timestamp", "", "rebuild", "--keyspace-suffix", "_v2", "--site", "s", "--from-file", visits("guid,timestamp\na,1522802128000\n"))
	f("it has no column guid", "", "rebuild", "--keyspace-suffix", "_v2", "--site", "s", "--from-file", visits("timestamp\n"))
	f("no such file", "", "rebuild", "--keyspace-suffix", "_v2", "--from-file", "no-such-file.csv")
	f("is that of the tables in use", "FOOTFALL_CASSANDRA_KEYSPACE_SUFFIX=_v2", "rebuild", "--keyspace-suffix", "_v2")
	f("reading --key-file: open no-such-file", "", "doctor", "--key-file", "no-such-file")
	f("--topic orders: want clicks or visits", "", "replay", "--topic", "orders")
	f("FOOTFALL_PRIVACY_SECRETS", "FOOTFALL_PRIVACY_SECRETS=typo", "forget", "--guid", "a")
}

// TestMain lets the test binary be the consumer, so that exit codes are those of a process.
func TestMain(m *testing.M) { harness.Main(m, map[string]func(){"consumer": main}) }

// Reports name links and sites as anybody sent them, so control characters are escaped.
func TestReportsShowNoEscapeSequences(t *testing.T) {
	var out bytes.Buffer
	reportTo(&out)("%s: clickcounter has %d", "a\x1b[2Jb\n", 3)
	if want := `a\x1b[2Jb\n: clickcounter has 3` + "\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
