package live

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"footfall/test/bench/workload"
)

// cell is what is counted: a link, or a site under a referrer, a page, or all of them.
type cell struct {
	name           uint32
	referrer, page string
}

// tally counts what was sent with code of its own: a fast consumer that is wrong has not held a rate.
type tally struct {
	form   Form
	events map[cell]*counts
	seen   map[cell]map[uint32]bool // visitors; true: with an event that is in the topic for sure
}

// counts of a cell. The tables must lie within them: at least what was accepted, at most what was sent.
type counts struct{ least, most, leastUnique, mostUnique int }

// detailed is how many sites are also compared by referrer and by page.
const detailed = 3

func newTally(f Form) tally {
	return tally{form: f, events: map[cell]*counts{}, seen: map[cell]map[uint32]bool{}}
}

// add notes an event that is in the topic, or may be.
func (t *tally) add(m workload.Moment, accepted bool) {
	t.count(cell{name: m.Name}, m.Visitor, accepted)
	if t.form.clicks || m.Name >= detailed {
		return
	}
	referrer, page := workload.LiveFeatures(m)
	t.count(cell{m.Name, referrer, ""}, m.Visitor, accepted)
	t.count(cell{m.Name, "", page}, m.Visitor, accepted)
}

func (t *tally) count(c cell, visitor uint32, accepted bool) {
	n := t.events[c]
	if n == nil {
		n = &counts{}
		t.events[c], t.seen[c] = n, map[uint32]bool{}
	}
	sure, known := t.seen[c][visitor]
	if n.most++; accepted {
		n.least++
	}
	if !known {
		n.mostUnique++
	}
	if accepted && !sure {
		n.leastUnique++
	}
	if !known || accepted {
		t.seen[c][visitor] = sure || accepted
	}
}

// note adds what a sender has sent.
func (s *side) note(send *sender) {
	for i, took := range send.took {
		if took == unsent {
			continue
		}
		for _, m := range send.of(i) {
			s.tally.add(m, took != unknown)
		}
	}
}

// verify compares the tables with what was sent. It wants all of it in one month.
func (s *side) verify(ctx context.Context) error {
	produced, err := s.ends(ctx)
	if err != nil {
		return err
	}
	got, err := s.tables(ctx)
	if err != nil {
		return err
	}
	return s.tally.check(got, int(produced))
}

// check compares what tables hold, of which least and leastUnique are the counts, and how many events the topic has.
func (t *tally) check(got map[cell]counts, produced int) error {
	total := 0
	for c, want := range t.events {
		found := got[c]
		if found.least < want.least || found.least > want.most || found.leastUnique < want.leastUnique || found.leastUnique > want.mostUnique {
			return fmt.Errorf("the tables are wrong: of %+v there are %d events and %d visitors, want %+v", c, found.least, found.leastUnique, *want)
		}
		if c.referrer+c.page == "" {
			total += found.least
		}
	}
	if total != produced {
		return fmt.Errorf("the tables are wrong: they have %d events, and the topic has %d", total, produced)
	}
	return nil
}

// tables reads what they say.
func (s *side) tables(ctx context.Context) (map[cell]counts, error) {
	got := map[cell]counts{}
	if s.form.clicks {
		names := map[string]cell{}
		for c := range s.tally.events {
			names[workload.LiveLink(c.name)] = c
		}
		err := s.links(ctx, "clickcounter", func(name string, n int) { got[names[name]] = counts{least: n} })
		if err != nil {
			return nil, err
		}
		err = s.links(ctx, "uniquecounter", func(name string, n int) {
			got[names[name]] = counts{least: got[names[name]].least, leastUnique: n}
		})
		return got, err
	}
	type answer struct {
		cell
		counts
	}
	answers := make(chan answer, len(s.tally.events))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for c := range s.tally.events {
		group.Go(func() (err error) {
			n := counts{}
			n.least, n.leastUnique, err = s.site(ctx, c)
			answers <- answer{c, n}
			return err
		})
	}
	err := group.Wait()
	close(answers)
	for a := range answers {
		got[a.cell] = a.counts
	}
	return got, err
}

func (s *side) links(ctx context.Context, table string, take func(name string, n int)) error {
	rows := s.servers.Session.Query(`SELECT short_url, value FROM urlshortener` + s.Suffix + `.` + table).WithContext(ctx).Iter().Scanner()
	for rows.Next() {
		var name string
		var n int
		if err := rows.Scan(&name, &n); err != nil {
			return err
		}
		take(name, n)
	}
	return rows.Err()
}

// site reads the views and the visitors of a site in this month. Views are added up by hour, which every version keeps.
func (s *side) site(ctx context.Context, c cell) (views, visitors int, err error) {
	now := time.Now().UTC()
	rows := s.servers.Session.Query(`SELECT metric_type, visits FROM cardinality`+s.Suffix+`.Counts WHERE siteId = ? AND month_interval_start = ?`+
		` AND feature1 = ? AND feature2 = ? AND metric_type IN ('hour_views', 'month_unique')`, workload.LiveSite(c.name),
		time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC), c.referrer, c.page).WithContext(ctx).Iter().Scanner()
	for rows.Next() {
		var metric string
		var n *int // a counter that was never touched, in a row that has others
		if err := rows.Scan(&metric, &n); err != nil {
			return 0, 0, err
		}
		if n != nil && metric == "hour_views" {
			views += *n
		} else if n != nil {
			visitors += *n
		}
	}
	return views, visitors, rows.Err()
}
