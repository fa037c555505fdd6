package mock

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"time"
)

// One click in botsEvery is a bot's; as many have no referrer.
const botsEvery = 20

// One click in amountsEvery has an amount, of which one in refundsEvery is negative.
const amountsEvery, refundsEvery = 3, 10

// MakeVisits makes up the visits of a plan. Their times are in random order.
func MakeVisits(p Plan) []Visit {
	r := rand.New(rand.NewPCG(p.Seed, 1))
	guids := make([]string, p.Guids)
	for i := range guids {
		var b [32]byte
		binary.BigEndian.PutUint64(b[:], r.Uint64())
		binary.BigEndian.PutUint64(b[8:], r.Uint64())
		guids[i] = uuid(b)
	}
	visitor := popularity(r, p.Zipf, p.Guids)
	value := make([]func() int, len(p.Features))
	for i, f := range p.Features {
		value[i] = popularity(r, p.Zipf, len(f.Values))
	}
	id := p.ids("visit")
	visits := make([]Visit, p.Visits)
	for i := range visits {
		v := Visit{ID: id(i), GUID: guids[visitor()], At: p.moment(r), Features: make([]string, len(p.Features))}
		for j, f := range p.Features {
			v.Features[j] = f.Values[value[j]()]
		}
		visits[i] = v
	}
	return visits
}

// MakeClicks makes up the clicks of a plan. It uses another random sequence, so that the number of clicks does not change the visits.
func MakeClicks(p Plan) []Click {
	if p.Clicks == 0 {
		return nil
	}
	r := rand.New(rand.NewPCG(p.Seed, 2))
	visitor, link := popularity(r, p.Zipf, p.Guids), popularity(r, p.Zipf, len(p.Links))
	country, referer := popularity(r, p.Zipf, len(p.Countries)), popularity(r, p.Zipf, len(p.Referers))
	worth, agents := rand.New(rand.NewPCG(p.Seed, 3)), rand.New(rand.NewPCG(p.Seed, 4))
	id := p.ids("click")
	clicks := make([]Click, p.Clicks)
	for i := range clicks {
		c := Click{
			ID: id(i), Link: p.Links[link()], IP: address(visitor()), Country: p.Countries[country()],
			Referrer: p.Referers[referer()], At: p.moment(r), Bot: r.IntN(botsEvery) == 0,
		}
		if r.IntN(botsEvery) == 0 {
			c.Referrer = ""
		}
		if worth.IntN(amountsEvery) == 0 {
			amount := 1 + worth.Int64N(20_000)
			if worth.IntN(refundsEvery) == 0 {
				amount = -amount
			}
			c.Amount = &amount
		}
		c.Agent = Agents[agents.IntN(len(Agents))]
		clicks[i] = c
	}
	return clicks
}

// moment is a random time of the plan. It computes in seconds, since a time.Duration holds 292 years at the most.
func (p Plan) moment(r *rand.Rand) time.Time {
	return time.Unix(p.From.Unix()+r.Int64N(p.To.Unix()-p.From.Unix()), 0).UTC()
}

// popularity picks one of n: evenly, or the first ones more often.
func popularity(r *rand.Rand, s float64, n int) func() int {
	if s == 0 || n == 1 {
		return func() int { return r.IntN(n) }
	}
	zipf := rand.NewZipf(r, s, 1, uint64(n-1))
	return func() int { return int(zipf.Uint64()) }
}

// address is the IP of the n-th visitor, from networks that are not routed. Every eighth is IPv6, of which the producer keeps the /64.
func address(n int) string {
	if n%8 == 7 {
		b := [16]byte{0x20, 0x01, 0x0d, 0xb8}
		binary.BigEndian.PutUint32(b[4:], uint32(n))
		return netip.AddrFrom16(b).String()
	}
	return netip.AddrFrom4([4]byte{10, byte(n >> 16), byte(n >> 8), byte(n)}).String()
}
