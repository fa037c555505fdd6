// Package table writes rows as text, in CSV and JSON, so that no name in them does harm: not in a spreadsheet, a browser or a terminal. A
// row is cells: text, int64, bool or nil. All functions append to dst and return it.
package table
