// Package store says what the consumer asks of a database: the interfaces, the types they speak in, and the errors by which a
// store tells whether a write was applied.
//
// A store imports this package and nothing of the pipeline. Store is what counting needs. The other interfaces add what one command
// or option needs: WalkStore, AuditStore, RetireStore and CompareStore (commands.go), and LatestStore. The package storetest
// has the suite that every store must pass.
package store
