// Package maintenance has the operator's commands: audit all keys (audit.go, auditrepair.go), retire visitors (retire.go), give a topic
// another number of partitions (grow.go, carry.go), accept that events are missing (accept.go), compare two sets of tables (compare.go).
// walk.go reads all keys, part by part.
//
// It uses the log and the store, but not the pipeline. Consumers may count meanwhile, except during accept-gap.
package maintenance
