// Package publisher writes events to Kafka and tells what became of each. It is a producer client of its own, because an HTTP
// request waits for every acknowledgement: no wait where none pays, one request for all partitions of a broker, bounded memory, fair
// shares between tenants, and topics that go on as a new generation.
//
// # The way of an event
//
//	Submit            encode; take a slot (fairShare); append to the open recordBatch of its partitionQueue
//	dispatch          for each ready queue: start a sender for the partition's leader, unless one is at work
//	gather            a sender: wait for events that may come soon, for a few milliseconds at the most
//	send              a sender: pack one batch of each ready queue of the broker into a produce request, write it, repeat
//	finish            per batch: acknowledged, retried later, moved to the next generation, or failed
//	settle            per event: store the outcome, give the slot back; the last one wakes the caller
//	Await             the caller: all outcomes, or "kafka_unavailable" for those that are still unknown after kafka.timeout
//
// An event is sent at once if its broker has had no request for a while. Otherwise it joins all others that arrive until that
// request is answered, or until it has taken longer than patience. After the answer a sender waits until as many events are there
// as were under way before, and no longer than linger. So a single event is fast, and where events come faster than Kafka answers,
// many share a request.
//
// # States of a partition queue
//
// A queue holds the record batches of one partition, the oldest first. At most one of its batches is in flight, and a batch
// that is retried goes back to the front. So events with the same key stay in order.
//
//	idle    no batch waits, none is in flight                  → ready  when an event arrives
//	ready   batches wait; the queue is listed in state.ready   → busy   when a sender takes the first batch
//	busy    one batch is in flight, or waits for the end of a  → ready or idle  when that batch is acknowledged or has failed,
//	        backoff, or for the search for a newer generation     when the backoff ends, when its events have moved
//
// A queue with failures is sent in a request of its own. Otherwise it would hold up the partitions that share the request:
// Kafka answers only when all partitions of a request are replicated.
//
// # States of a record batch
//
//	open     last in its queue, takes more events up to maxBatch bytes
//	sealed   in flight, or waits to be retried; its bytes never change again: an abandoned request may still read them
//	parked   Kafka refused it as too large, so its topic may be sealed: it waits for the search for a newer generation
//	settled  all of its events have an outcome
//
// A sealed batch is retried, after a backoff of 0.1 s that grows to 1 s, until kafka.timeout has passed since its newest
// event arrived, or until Kafka refuses it for good.
//
// # Slots and memory
//
// An event holds a slot from Submit until it is settled, not only until its sender was answered. So the memory in use stays
// bounded while Kafka is away, and events above http.max_in_flight are refused at once.
//
// # Locks
//
// state.mu guards the whole state: queues, batches, deliveries, brokers. Functions in state.go expect the caller to hold it.
// Nobody waits for Kafka while it holds mu: findLeaders, which is called with mu, reads the transport's memory. followMu is taken
// before mu.
package publisher
