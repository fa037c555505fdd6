// Package memstore is a store in memory whose faults a test chooses: for what real stores cannot be made to do at will. Only tests use it.
package memstore
