// Package intake turns HTTP requests into events. It answers an event with 202 only when Kafka has acknowledged it on all
// in-sync replicas. Everything else is answered with a reason (package answer).
//
// Read it in the order in which a request passes through it:
//
//	routes.go    paths, methods, CORS, counting answers, panics
//	receive.go   one handler per way in: admit, read, accept, answer
//	body.go      reads, decompresses and splits a body, within bounds of memory and time
//	batch.go     many events in one body: an outcome for each
//	event.go     completes and checks events, and hands them to the publisher
//	forms.go     events that come as a form or as the query of the pixel
//
// Package admission decides who may send what and how much; package publisher writes to Kafka. server.go starts and stops it all,
// config.go checks the configuration, links.go connects package links, and admin.go is what operators see.
package intake
