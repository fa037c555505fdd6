// Package repair finds what was counted twice, late or not at all, and repairs it from the log.
//
// coverage.go is the rule: a key's ledger covers each of its offsets once. check.go compares keys with it and writes repairs, each with a
// ledger row of its own. doubts.go checks doubts when they are due; doubter.go puts offsets in doubt. Nothing here needs to own a
// partition.
package repair
