// Package web answers questions about counts over HTTP. It knows no database: it asks Stats, and writes what it gets.
//
// A request passes these files:
//
//   - serve.go: the listener, TLS and timeouts; routes.go: the table of paths; server.go: what happens to every request
//   - headers.go: security headers and CORS; query.go: names and parameters, as they are or refused
//   - links.go, sites.go: the questions; refuse.go: every refusal
//   - answer.go: what an answer consists of; format.go: JSON, CSV or NDJSON; encode.go: how they are written
//   - export.go: a whole month as a ZIP, which reader/export writes
//   - pages.go: the pages for people, which reader/page makes
//   - body.go: whole with an ETag, or streamed; compressed or not
package web
