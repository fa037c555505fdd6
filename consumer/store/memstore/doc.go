// Package memstore is a store in memory for tests, which choose its faults: real stores do not fail on demand.
package memstore
