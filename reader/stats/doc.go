// Package stats answers questions about counts: what can be asked, what is kept, and how far the counts reach. It never answers with
// a wrong number: what the tables do not keep is an error that says what can be asked instead.
//
// Reader has the logic and no I/O of its own. Store is what it needs of a database; statstest has the suite that every store passes.
//
//   - unit.go, period.go: hours, days, ISO weeks and months of UTC, and how people write them
//   - refusals.go: NotKept, NotAligned, Malformed, TooMuch
//   - store.go: the rows, and the questions about them
//   - answers.go: what Reader returns
//   - reader.go, links.go, sites.go, top.go, busiest.go: the questions; check.go: names and features that can be; kept.go: which metric answers;
//     sitemonth.go, linkmonth.go: all of a month, and reading.go: which events it contains; asof.go: how far the counts reach;
//     pulse.go: how fast they grow; sums.go, fill.go: points put together, and zeros between them
package stats
