// Package maintenance is what an operator does now and then, while consumers count or before they do: audit all keys (audit.go,
// auditrepair.go), retire visitors (retire.go), give a topic another number of partitions (grow.go, carry.go), accept that events are missing
// (accept.go), compare two sets of tables (compare.go). walk.go reads all keys, part by part.
//
// It knows the log and the store, and nothing of the pipeline.
package maintenance
