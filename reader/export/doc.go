// Package export writes a site's or a link's month, as CSV, NDJSON or Parquet, with a manifest that says what it is and
// which events it contains. It keeps a piece of the rows in memory, never all. Two exports of a month in which nothing was counted
// meanwhile are the same, byte by byte.
//
//   - export.go: the rows, and how they are written; manifest.go: what is told about them
//   - format.go, parquet: the formats; file.go: safely into a file; zip.go: both in one stream
package export
