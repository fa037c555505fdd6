package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"time"

	"footfall/configs"
	"footfall/consumer/deadletters"
	"footfall/consumer/eventlog"
	"footfall/consumer/replay"
	"footfall/models"
)

const replayArgs = "[--send] [--list] [--reason R]... [--topic T]... [--key K]... [--since T] [--until T] [RULES] [--rate N] [--limit N] [--max-ahead D] [--json]"

const replayHelp = `Tells the dead letters by reason and time, and what would become of them. With --send it sends them
again, each once, however often it is interrupted or repeated. Without --send it changes nothing.

First mend what caused the letters, and say by rules what was wrong with them. Rules are applied in
the order given:

  consumer replay --reason bad_timestamp --scale ts=1000             seconds become milliseconds
  consumer replay --reason unknown_feature --rename device=feature1  a field gets another name
  consumer replay --site shpo=shop --send                            a site gets another name

A mended letter is checked as the producer checks events. What consumers could not count is told with the
reason, and not sent. A sender's id stays: if the sender has sent the event again, it counts once.
--scale leaves a ts that is valid already as it is. Letters of wrong_partition need no rule.

What was sent is remembered in the topic DEAD-replayed (dead-letters-replayed), for ever. If two replays
run at the same time, the one that began first stops. A letter whose event failed once more is told,
and sent only with --again. The listing shows keys and values, which hold addresses of visitors, only
with --values. Exits 1 if letters are doubtful: nobody can tell whether an interrupted replay sent them.
`

func (line *commandLine) replayFlags(f *flag.FlagSet) {
	o := &line.again
	texts := func(name, usage string, to *[]string) { f.Func(name, usage+"; may be repeated", each(to)) }
	moment := func(name, usage string, to *time.Time) {
		f.Func(name, usage+" `TIME`: a date, a time in RFC 3339, or how long ago", func(text string) (err error) {
			*to, err = deadletters.Moment(text, time.Now())
			return err
		})
	}
	rule := func(kind, usage string) {
		f.Func(kind, usage+"; may be repeated", func(text string) error {
			r, err := deadletters.ParseRule(kind, text)
			o.Rules = append(o.Rules, r)
			return err
		})
	}
	f.BoolVar(&o.Send, "send", false, "send the letters again")
	f.BoolVar(&o.List, "list", false, "tell each letter")
	f.BoolVar(&o.Values, "values", false, "tell each letter with its key and value, which may hold personal data")
	f.BoolVar(&o.Again, "again", false, "also letters that were sent again and failed once more")
	f.BoolVar(&o.Doubtful, "doubtful", false, "also letters of which nobody can tell whether an interrupted replay sent them")
	texts("reason", "only letters with this `REASON`", &o.Select.Reasons)
	texts("topic", "only letters from this `TOPIC`", &o.Select.Topics)
	texts("key", "only letters with this Kafka `KEY`, or of this link or site", &o.Select.Keys)
	moment("since", "only letters that were written since this", &o.Select.Since)
	moment("until", "only letters that were written before this", &o.Select.Until)
	rule(deadletters.Rename, "`OLD=NEW`: rename a field")
	rule(deadletters.Scale, "`FIELD=FACTOR`: multiply a number, such as ts=1000")
	rule(deadletters.Site, "`OLD=NEW`: rename a site")
	rule(deadletters.Link, "`OLD=NEW`: rename a link")
	rule(deadletters.Set, "`FIELD=VALUE`: set a field")
	rule(deadletters.Drop, "`FIELD`: remove a field")
	f.Func("rate", fmt.Sprintf("send this `NUMBER` of events a second at the most; %d if not given", replay.DefaultRate), func(text string) (err error) {
		if o.Rate, err = strconv.ParseFloat(text, 64); err != nil || !(o.Rate >= 0.1 && o.Rate <= 1e6) {
			return fmt.Errorf("%q: want a number of events a second", text)
		}
		return nil
	})
	f.Func("limit", "send this `NUMBER` of events at the most", positive(&o.Limit, strconv.Atoi, "a number of events"))
	f.Func("max-ahead", "send events that are up to this `DURATION` ahead of the clock; the producer's time.max_ahead, in the environment or by default, if not given",
		positive(&o.Ahead, time.ParseDuration, "a duration, such as 5m"))
	f.BoolVar(&line.json, "json", false, "print the report as JSON, in one line")
}

func replayLetters(ctx context.Context, t *task) error {
	o := t.again
	o.List = o.List || o.Values
	for _, topic := range o.Select.Topics {
		base, _ := models.SplitGeneration(topic)
		if err := t.counts(base, topic); err != nil {
			return err
		}
	}
	if o.Ahead == 0 {
		producer, err := configs.LoadProducer("") // its file is on another machine: what the environment says, or the default
		if err != nil {
			return fmt.Errorf("%w; give --max-ahead; %w", err, errUsage)
		}
		o.Ahead = producer.Time.MaxAhead
	}
	if err := t.open(ctx); err != nil {
		return err
	}
	l, err := eventlog.New(t.cfg, t.store, t.log)
	if err != nil {
		return err
	}
	tell := t.report
	if t.json {
		tell = func(string, ...any) {}
	}
	result, err := replay.Run(ctx, l, o, tell)
	if t.json {
		text, wrong := json.Marshal(result)
		if wrong != nil {
			return wrong
		}
		t.report("%s", text)
		return err
	}
	for _, text := range result.Lines(o.Send) {
		t.report("%s", text)
	}
	return err
}
