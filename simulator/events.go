package main

import (
	"encoding/json"

	"footfall/simulator/mock"
)

// event is one line of a request. Every event has an id, so that it is counted once even if it is sent again.
type event struct {
	id   string
	line []byte
}

func visitEvents(p mock.Plan, visits []mock.Visit) func(int) event {
	names := p.Names()
	return func(i int) event {
		v := visits[i]
		fields := map[string]any{"id": v.ID, "siteId": p.Site, "guid": v.GUID, "ts": v.At.UnixMilli()}
		for j, name := range names {
			fields[name] = v.Features[j]
		}
		return newEvent(v.ID, fields)
	}
}

// clickEvents sets bot and country of each click, so that the producer does not derive them.
func clickEvents(clicks []mock.Click) func(int) event {
	return func(i int) event {
		c := clicks[i]
		fields := map[string]any{
			"id": c.ID, "short_url": c.Link, "ip": c.IP, "country": c.Country, "ts": c.At.UnixMilli(),
			"referrer": c.Referrer, "bot": c.Bot,
		}
		if c.Agent.UserAgent != "" {
			fields["ua"] = c.Agent.UserAgent
		}
		if c.Amount != nil {
			fields["amount"] = *c.Amount
		}
		return newEvent(c.ID, fields)
	}
}

func newEvent(id string, fields map[string]any) event {
	line, err := json.Marshal(fields)
	if err != nil {
		panic(err) // text and numbers only
	}
	return event{id, append(line, '\n')}
}
