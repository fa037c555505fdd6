// Package models holds the nouns of footfall: events, visitors, keys, cells, time buckets and the bytes on the Kafka
// topics. It uses the standard library only, does no I/O and keeps no state, so that everything else can rest on it.
package models
