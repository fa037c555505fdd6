// Package repair finds what was counted twice, late or not at all, and mends it from the log.
//
// coverage.go is the rule: of the offsets that a key's ledger covers, each makes 1. check.go holds keys against it and writes repairs, each with a
// ledger row of its own. doubts.go looks at what is in doubt when it is due; doubter.go puts offsets in doubt. Nothing here needs to own
// a partition.
package repair
