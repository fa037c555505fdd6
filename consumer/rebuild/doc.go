// Package rebuild counts events again into a second set of tables, from the log (rebuild.go) or from a file of visits (file.go), and
// compares that set with the one in use.
package rebuild
