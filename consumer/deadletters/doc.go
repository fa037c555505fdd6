// Package deadletters knows what a dead letter is, and how it is mended: it parses letters (letter.go), selects them (selection.go), changes
// them by rules and checks the result as the producer does (rules.go, mend.go), and adds up what became of them (report.go).
//
// The package is pure: it reads and writes nothing. consumer/replay does.
package deadletters
