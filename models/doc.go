// Package models has the terms of footfall: events, visitors, keys, cells, time buckets, and the bytes on the Kafka topics. It uses the
// standard library only, does no I/O and keeps no state. All other packages build on it.
package models
