// Package rebuild counts once more, into a second set of tables: from the log (rebuild.go) or from a file of visits (file.go), and compares.
package rebuild
