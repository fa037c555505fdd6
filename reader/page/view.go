package page

import (
	"fmt"
	"html/template"
	"iter"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"footfall/models"
	"footfall/reader/plot"
	"footfall/reader/stats"
)

// view is what a template shows.
type view struct {
	Title   string
	Body    string // the name of the template
	Share   string // goes with every search
	Live    bool   // only the numbers that move
	LiveURL string // where those are; empty: nothing moves
	SignIn  bool   // a read key would help
	AsOf    *asOf
	Data    any

	plain, zipped []byte // as it is sent
}

// newView has what all pages have.
func newView(a asked, title, body string, as stats.AsOf, data any) *view {
	return &view{Title: title, Body: body, Share: a.q.Get("share"), Live: a.live, LiveURL: partURL(a.with()), AsOf: reached(as, a.now.Time()), Data: data}
}

func partURL(page string) string {
	if strings.Contains(page, "?") {
		return page + "&part=live"
	}
	return page + "?part=live"
}

// asOf says how far the counts reach.
type asOf struct {
	Known bool
	Stamp string // for machines
	When  string
	Notes []string
	Well  bool // nothing to worry about
}

func reached(as stats.AsOf, now time.Time) *asOf {
	out := &asOf{Known: !as.Time.IsZero(), Well: as.Counting && as.Doubts == 0}
	if out.Known {
		t := as.Time.UTC()
		out.Stamp, out.When = t.Format(time.RFC3339), t.Format("15:04:05")+" UTC"
		if t.Format(models.Daily) != now.Format(models.Daily) {
			out.When = t.Format("15:04:05 UTC on 2 January 2006")
		}
		out.Notes = append(out.Notes, count(as.Lag, "event")+" behind")
		if as.Lag == 0 {
			out.Notes[0] = "up to date"
		}
	}
	if out.Known && !as.Counting {
		out.Notes = append(out.Notes, "no consumer is counting right now")
	}
	if as.Doubts > 0 {
		out.Notes = append(out.Notes, count(int64(as.Doubts), "open doubt")+": some counts may still be corrected")
	}
	return out
}

func count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return plot.Number(n) + " " + noun
}

// tile is a number with its name.
type tile struct {
	Label, Value, Note string
	Main               bool
}

// change is how a number differs from the one before; empty if there is neither.
func change(now, before int64) string {
	switch {
	case now == 0 && before == 0:
		return ""
	case now == before:
		return "as many as before"
	case before == 0:
		return "none before"
	}
	percent := math.Round(100 * float64(now-before) / float64(before))
	switch {
	case percent >= 1000:
		return fmt.Sprintf("%s times as many as before", plot.Number(int64(math.Round(float64(now)/float64(before)))))
	case percent > 0:
		return fmt.Sprintf("+%v%% on the period before", percent)
	case percent < 0:
		return fmt.Sprintf("−%v%% on the period before", -percent)
	}
	return "about as many as before"
}

// percent is a share in words.
func percent(n, of int64) string {
	if of <= 0 || n < 0 {
		return ""
	}
	share := 100 * float64(n) / float64(of)
	switch {
	case share == 0 || share >= 9.95:
		return fmt.Sprintf("%.0f%%", share)
	case share < 0.1:
		return "< 0.1%"
	}
	return fmt.Sprintf("%.1f%%", share)
}

// breakdown is a number by country, referrer or value.
type breakdown struct {
	ID, Heading, Note string
	Column, Unit      string // headings of the table
	Rows              []row
	Map               template.HTML // empty: there is none
	MapNote           string        // what it leaves out
	CSV, More         string
	Empty             string
	NotKept           *stats.NotKept
}

type row struct {
	Label, Full string // Full is the whole name where Label is cut
	Href        string
	Count       string
	Percent     string
	Bar         template.HTML
}

// rows puts shares into a table: bars as long as they are beside the largest, percentages of a total.
func rows(shares []stats.Share, total int64, name func(string) string, href func(string) string) (out []row) {
	largest := int64(1)
	for _, s := range shares {
		largest = max(largest, s.Count)
	}
	for _, s := range shares {
		r := row{Count: plot.Number(s.Count), Percent: percent(s.Count, total), Bar: plot.Bar(float64(s.Count) / float64(largest))}
		full := models.Visible(name(s.Label))
		if r.Label = clip(full); r.Label != full {
			r.Full = full
		}
		if href != nil {
			r.Href = href(s.Label)
		}
		out = append(out, r)
	}
	return out
}

// maxLabel is how many characters of a name are shown in a table.
const maxLabel = 64

func clip(text string) string {
	if utf8.RuneCountInString(text) <= maxLabel {
		return text
	}
	return string([]rune(text)[:maxLabel-1]) + "…"
}

// plotView is a plot and its numbers.
type plotView struct {
	Heading, Words, Note string
	SVG                  template.HTML
	Unit                 string
	Noun                 string
	HasBefore, HasOpen   bool
	Rows                 []plotRow
	CSV                  string
	NotKept              *stats.NotKept
}

type plotRow struct {
	When, Count, Before string
	Open                bool
}

// plotOf draws points and puts them into a table.
func plotOf(noun string, w window, points, before []stats.Point, now models.Millis) *plotView {
	heading := fmt.Sprintf("%s by %s", strings.ToUpper(noun[:1])+noun[1:], w.unit)
	v := &plotView{Heading: heading, Words: w.words(), Note: w.note, Unit: strings.ToUpper(string(w.unit[:1])) + string(w.unit[1:]), Noun: noun, HasBefore: len(before) > 0}
	v.SVG = plot.Times{ID: "plot", Title: heading, Desc: describe(noun, w, points), Noun: noun, Unit: w.unit, Points: points, Before: before, Now: now}.SVG()
	for i, p := range points {
		if p.Start > now {
			break
		}
		r := plotRow{When: plot.Words(w.unit, p.Start.Time()), Count: plot.Number(p.Count), Open: now < w.unit.End(p.Start)}
		if i < len(before) {
			r.Before = plot.Number(before[i].Count)
		}
		v.HasOpen = v.HasOpen || r.Open
		v.Rows = append(v.Rows, r)
	}
	return v
}

// describe says what a plot shows, for those who do not see it.
func describe(noun string, w window, points []stats.Point) string {
	if len(points) == 0 {
		return "No " + noun + " yet."
	}
	most := points[0]
	for _, p := range points {
		if p.Count > most.Count {
			most = p
		}
	}
	if most.Count <= 0 {
		return w.words() + ". No " + noun + "."
	}
	return fmt.Sprintf("%s. Most: %s %s, %s. The numbers are in the table below.", w.words(), plot.Number(most.Count), noun, plot.Words(w.unit, most.Start.Time()))
}

// collect reads a sequence.
func collect[T any](rows iter.Seq2[T, error], most int) (out []T, err error) {
	for row, err := range rows {
		if err != nil {
			return nil, err
		}
		if out = append(out, row); len(out) == most {
			break
		}
	}
	return out, nil
}

// filled reads a series with a point for every interval.
func filled(s stats.Series) ([]stats.Point, error) {
	return collect(stats.Fill(s.Unit, s.Within, s.Points), 0)
}

// finished sums the intervals that are over by now, and tells how many there are.
func finished(unit stats.Unit, points []stats.Point, now models.Millis) (sum int64, n int) {
	for _, p := range points {
		if unit.End(p.Start) > now {
			break
		}
		sum, n = sum+p.Count, n+1
	}
	return sum, n
}

func total(points []stats.Point) (sum int64) {
	for _, p := range points {
		sum += p.Count
	}
	return sum
}
