// Package statstest is for tests of stats.Store and of those who use one: Run is the suite that every store must pass, Memory a store
// in memory.
package statstest
