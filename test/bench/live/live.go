// Package live measures the rate of live traffic that footfall holds: events that come one by one at a steady rate through the producer,
// and are counted as fast as they come. Files in the order of a run: live.go, search.go, side.go, step.go, send.go, watch.go, tally.go,
// table.go.
package live

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"github.com/gocql/gocql"

	"footfall/test/bench/subject"
	"footfall/test/bench/workload"
)

// Form is one kind of live traffic.
type Form struct {
	Name   string // as it is asked for
	Title  string
	About  string
	clicks bool
	each   int // events of a request
}

// Forms are all there are.
var Forms = []Form{
	{Name: "live", Title: "Live visits", About: workload.AboutLiveVisits + "; one visit a request", each: 1},
	{Name: "livebatches", Title: "Live visits in batches", About: "as live visits, but 20 of them a request (NDJSON)", each: 20},
	{Name: "liveclicks", Title: "Live clicks", About: workload.AboutLiveClicks + "; one click a request", clicks: true, each: 1},
}

func (f Form) traffic() workload.Live {
	if f.clicks {
		return workload.NewLiveClicks(workload.Seed)
	}
	return workload.NewLiveVisits(workload.Seed)
}

// Options say how to measure.
type Options struct {
	rate        float64
	hold        time.Duration
	settle      time.Duration
	step        time.Duration
	within      float64
	age         time.Duration
	connections int
}

// Flags declares the options.
func Flags(flags *flag.FlagSet) *Options {
	o := &Options{}
	flags.Float64Var(&o.rate, "rate", 500, "live: events/s that the search begins with, or that -hold holds")
	flags.DurationVar(&o.hold, "hold", 0, "live: hold -rate for so long instead of searching, and print the lag every ten seconds")
	flags.DurationVar(&o.settle, "settle", 40*time.Second, "live: at the begin of a step, not measured: chunks grow until they have the size that the rate needs")
	flags.DurationVar(&o.step, "step", 40*time.Second, "live: how long a rate must be held")
	flags.Float64Var(&o.within, "within", 1.1, "live: end the search when the lowest rate not held is at most so many times the highest one held")
	flags.DurationVar(&o.age, "age", time.Minute, "live: a rate is not held if 1 % of the events are counted later than this")
	flags.IntVar(&o.connections, "connections", 256, "live: from senders; 512 are the most that a producer takes from one address by default")
	return o
}

// Servers are those that all share.
type Servers struct {
	Session          *gocql.Session
	Kafka, Cassandra int // process ids; 0 if unknown
}

// Side is one footfall, with a topic and tables of its own.
type Side struct {
	Name string
	subject.Version
	subject.Place
}

// Run measures one form of traffic on all sides, in turns, and returns a chapter of the report. Each side keeps its processes, its tables and
// its visitors from step to step, so its caches are as warm as those of a consumer that has been running.
func Run(ctx context.Context, o *Options, f Form, servers Servers, sides ...Side) (text string, err error) {
	var running []*side
	defer func() {
		for _, s := range running {
			err = errors.Join(err, s.stop(context.WithoutCancel(ctx)))
		}
	}()
	for _, one := range sides {
		one.Clicks = f.clicks
		s := &side{Side: one, form: f, options: o, servers: servers, traffic: f.traffic(), search: search{start: o.rate, within: o.within}}
		running = append(running, s)
		if err := s.start(ctx); err != nil {
			return "", fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	if o.hold > 0 {
		for _, s := range running {
			if err := s.hold(ctx); err != nil {
				return "", fmt.Errorf("%s at %.0f/s: %w", s.Name, o.rate, err)
			}
		}
		return chapter(o, f, running), nil
	}
	for more := true; more; {
		more = false
		for _, s := range running {
			rate, ok := s.search.next()
			if !ok {
				continue
			}
			more = true
			out, err := s.try(ctx, rate, o.step, nil)
			if err != nil {
				return "", fmt.Errorf("%s at %.0f/s: %w", s.Name, rate, err)
			}
			s.done(out)
		}
	}
	return chapter(o, f, running), nil
}
