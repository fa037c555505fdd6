package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"footfall/consumer/eventlog"
	"footfall/internal/doctor"
	"footfall/internal/retry"
	"footfall/models"
)

// The canary is a bot's click on a link of its own: the consumer counts it in botcounter and in nothing else. So no list, page, total or export
// shows it, and nothing remembers a visitor. It passes the producer, Kafka, the ledger and a counter batch as every click does.
//
// A doctor takes one of canaryLinks links for itself, so that its counter moves by its own canary alone. Before it reads the counter, it waits until
// all clicks are counted that were in the log: a canary that an earlier doctor did not wait for may be among them. The links are few and
// stay the same: the tables do not grow.
const (
	canaryLinks  = 16
	canaryPrefix = "footfall.canary." // the dot: no link that leads somewhere can have this name
	canaryIP     = "192.0.2.1"        // of a network that is for documentation
	canaryTime   = 8 * time.Second    // what the check may take
	canaryLease  = 30 * time.Second   // longer than that
	canaryPoll   = 50 * time.Millisecond
)

// canary sends an event and waits until it is counted.
func (p *patient) canary(ctx context.Context) doctor.Findings {
	if p.Producer == "" {
		return doctor.NotChecked("no canary was sent: --producer is empty")
	}
	if p.paused != "" {
		return skippedBy(p.paused)
	}
	holder := uuid.NewString()
	link, err := p.takeLink(ctx, holder)
	if err != nil {
		return refused(err)
	}
	if link == "" {
		return doctor.Doubtful("run fewer doctors at a time", "no canary was sent: %d doctors have one under way", canaryLinks)
	}
	defer func() {
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = p.store.ReturnLink(end, link, holder) // it is free again by itself
	}()
	if f := p.awaitCounted(ctx, "no canary was sent: "); f != nil {
		return f
	}
	before, err := p.store.BotClicks(ctx, link)
	if err != nil {
		return refused(err)
	}
	ends, err := p.clickEnds(ctx)
	if err != nil {
		return refused(err)
	}
	sent := time.Now()
	findings, ok := p.send(ctx, link)
	if !ok {
		return findings
	}
	return append(findings, p.follow(ctx, link, before, ends, sent)...)
}

// takeLink takes a link that no other doctor has; empty if there is none.
func (p *patient) takeLink(ctx context.Context, holder string) (string, error) {
	for _, i := range rand.Perm(canaryLinks) {
		link := fmt.Sprintf("%s%02d", canaryPrefix, i)
		ok, err := p.store.TakeLink(ctx, link, holder, canaryLease)
		if ok || err != nil {
			return link, err
		}
	}
	return "", nil
}

// clicks are the counted partitions of clicks.
func (p *patient) clicks() (list []models.Partition) {
	for _, part := range p.all() {
		if base, _ := models.SplitGeneration(part.Topic); base == p.Config.Kafka.Topics.Clicks {
			list = append(list, part)
		}
	}
	return list
}

// clickEnds are the ends of the partitions of clicks, or their seals.
func (p *patient) clickEnds(ctx context.Context) (map[models.Partition]int64, error) {
	bounds, err := eventlog.Bounds(ctx, p.log.Kafka, p.clicks())
	ends := map[models.Partition]int64{}
	for part, log := range bounds {
		if ends[part] = log.To; p.counts[part.Topic].Seal != nil {
			ends[part] = min(log.To, p.counts[part.Topic].Seal.Ends[part.Number])
		}
	}
	return ends, err
}

// awaitCounted waits until all clicks that are in the log now are counted. It finds nothing unless that takes too long; at is how the finding begins.
func (p *patient) awaitCounted(ctx context.Context, at string) doctor.Findings {
	ends, err := p.clickEnds(ctx)
	if err != nil {
		return refused(err)
	}
	first := int64(-1)
	for {
		left, err := p.uncounted(ctx, ends)
		switch {
		case err == nil && left == 0:
			return nil
		case err == nil && first < 0:
			first = left
		}
		if retry.Sleep(ctx, canaryPoll) == nil {
			continue
		}
		if err != nil && ctx.Err() == nil {
			return refused(err)
		}
		if left < first {
			return doctor.Doubtful("run the doctor again when consumers have caught up", "%sconsumers are behind: %d clicks wait, %d after %v", at, first, left, canaryTime)
		}
		return doctor.Faulty("look at the consumers' log, and at docs/runbook.md, When lag grows", "%sconsumers do not go on: %d clicks wait", at, max(first, 0))
	}
}

// uncounted is how many offsets below ends the group has not committed.
func (p *patient) uncounted(ctx context.Context, ends map[models.Partition]int64) (left int64, err error) {
	group, err := p.log.GroupOffsets(ctx, p.Config.Kafka.Group, p.clicks())
	for part, at := range group {
		left += max(0, ends[part]-max(at.Offset, 0))
	}
	return left, err
}

// send sends a canary to the producer. It returns true if Kafka has it.
func (p *patient) send(ctx context.Context, link string) (findings doctor.Findings, ok bool) {
	target, err := url.JoinPath(p.Producer, "v1", "clicks")
	if err != nil || !strings.HasPrefix(target, "http") {
		return doctor.Faulty("give an address such as http://127.0.0.1:8080", "--producer %s is no address", p.Producer), false
	}
	body, err := json.Marshal(map[string]any{"id": uuid.NewString(), "short_url": link, "ip": canaryIP, "bot": true})
	if err != nil {
		return refused(err), false
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return refused(err), false
	}
	request.Header.Set("Content-Type", "application/json")
	if p.Key != "" {
		request.Header.Set("Authorization", "Bearer "+p.Key)
	}
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request) // never through a proxy
	if err != nil {
		f := doctor.Faulty("start the producer there, or give the address of one by --producer", "the producer at %s does not answer: %v", p.Producer, err)
		if !p.Expected {
			f[0].Severity = doctor.Warning
		}
		return f, false
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if response.StatusCode != http.StatusAccepted || err != nil {
		return judgeRefusal(p.Producer, response.StatusCode, string(said)), false
	}
	if theirs, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		findings = judgeClock("the clock of the producer at "+p.Producer, theirs.Sub(p.Now()), time.Second) // the header has whole seconds
	}
	return findings, true
}

// judgeRefusal says why a producer does not take the canary.
func judgeRefusal(producer string, status int, said string) doctor.Findings {
	remedy := "look at the producer's log, or run `producer doctor` beside it"
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		remedy = "give a write key by --key-file, of an entry of the producers' access.sites that has links: \"" + canaryPrefix + "*\""
	case http.StatusTooManyRequests:
		remedy = "run the doctor less often, or raise the producer's limits"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		remedy = "give the address of a producer's http.addr by --producer"
	}
	return doctor.Faulty(remedy, "the producer at %s refuses the canary: %d %s", producer, status, models.Excerpt(strings.TrimSpace(said)))
}

// follow waits until a canary is counted, and until consumers are past it: then its counter must have moved by one.
func (p *patient) follow(ctx context.Context, link string, before int64, ends map[models.Partition]int64, sent time.Time) doctor.Findings {
	for {
		if now, err := p.store.BotClicks(ctx, link); err == nil && now != before {
			break
		}
		if retry.Sleep(ctx, canaryPoll) != nil {
			return p.lost(context.WithoutCancel(ctx), ends)
		}
	}
	took := time.Since(sent)
	if f := p.awaitCounted(ctx, fmt.Sprintf("the canary was counted after %v, but afterwards ", took.Round(time.Millisecond))); f != nil {
		return f
	}
	after, err := p.store.BotClicks(ctx, link)
	if err != nil {
		return refused(err)
	}
	if after != before+1 {
		return doctor.Faulty("does anybody else send clicks on "+link+"? If not, run `consumer audit`, and keep the log: an event is counted once or this is a bug",
			"one canary moved its counter by %d (botcounter of %s, from %d to %d)", after-before, link, before, after)
	}
	f := doctor.Fine("an event is counted %v after it was sent to %s: botcounter of %s went from %d to %d", took.Round(time.Millisecond), p.Producer, link, before, after)
	f[0].Seconds = took.Seconds()
	return f
}

// lost says where a canary is that the producer has acknowledged and that is not counted. ends are the partitions' ends before it was sent.
func (p *patient) lost(ctx context.Context, ends map[models.Partition]int64) doctor.Findings {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	now, err := p.clickEnds(ctx)
	moved := err != nil
	for part, end := range now {
		moved = moved || end != ends[part]
	}
	if !moved {
		return doctor.Faulty("give producer and consumers the same kafka.brokers and kafka.topics.clicks, or --producer the address of the right one",
			"the producer at %s acknowledged the canary, but it is not in topic %s that is counted", p.Producer, p.Config.Kafka.Topics.Clicks)
	}
	if left, err := p.uncounted(ctx, now); err == nil && left == 0 {
		return doctor.Faulty("look for the canary among the dead letters; do consumers and this doctor have the same cassandra.keyspace_suffix?",
			"consumers are past the canary, but its counter has not moved")
	}
	return doctor.Faulty("look at the consumers' log: are they paused, or is Cassandra slow (docs/runbook.md, When lag grows)?",
		"the canary is in Kafka, but it was not counted within %v", canaryTime)
}
