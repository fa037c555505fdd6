package intake_test

import "testing"

// TestOnKfake runs every suite on the broker that `make run` uses. Each gets its own, so that they can run side by side.
func TestOnKfake(t *testing.T) {
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.test(t, startFake(t))
		})
	}
}

// suites test what the producer promises, on any Kafka. Those that kill or pause the broker need one of their own.
var suites = []struct {
	name  string
	harms bool
	test  func(*testing.T, broker)
}{
	{"accepted events are in Kafka byte by byte", false, acceptedEvents},
	{"left out fields are filled in", false, filledIn},
	{"batches", false, batches},
	{"batches with events that cannot be taken", false, mixedBatches},
	{"beacons and pixels", false, beaconsAndPixels},
	{"features of other names, and amounts", false, namedFeatures},
	{"ids", false, identity},
	{"times", false, times},
	{"clicks are filled from requests", false, filledClicks},
	{"hashed visitors", false, hashedVisitors},
	{"visitors of a period", false, rotatedVisitors},
	{"what is told of visitors stays in the producer", false, discreet},
	{"write keys", false, writeKeys},
	{"forms without a site", false, onlySites},
	{"pages of other origins", false, crossOrigin},
	{"limits", false, limited},
	{"short links", false, shortLinks},
	{"made-up referrers of redirects", false, madeUpReferrers},
	{"invented visitors are bounded", false, inventedVisitors},
	{"invented values of a page's key are bounded", false, inventedValues},
	{"invented referrers and clicks of redirects are bounded", false, inventedReferrers},
	{"bad requests are refused by name and leave no trace", false, badRequests},
	{"hostile requests get an answer and nothing else", false, hostile},
	{"answers repeat little of what was sent", false, echoes},
	{"answers to batches are bounded", false, boundedAnswers},
	{"answers that nobody reads", false, unreadAnswers},
	{"one address has its share of the connections", false, boundedConnections},
	{"a proxy may have all connections", false, boundedProxies},
	{"connections that nobody reads go first", false, unreadConnections},
	{"whose body is not wanted does not hold its connection", false, turnedAway},
	{"intruders get nothing past keys, origins and links", false, guardedHostile},
	{"spoofed addresses", false, spoofedAddresses},
	{"a producer with a certificate", false, encrypted},
	{"a certificate that is renewed", false, renewed},
	{"slow clients are sent away", true, slowClients}, // harms nobody, but once is enough
	{"a producer that stops answers what is in flight", false, closing},
	{"health and metrics", false, health},
	{"a topic that goes on as another generation", false, generations},
	{"Kafka killed and started again", true, killed},
	{"Kafka paused and resumed", true, paused},
	{"a batch that Kafka does not take", true, batchWithoutKafka},
	{"too much in flight", true, overload},
	{"an event that was given up still takes its place", true, heldPlaces},
	{"a client that hangs up", true, hangUp},
	{"a producer that stops waits for Kafka", true, closingSlowly},
	{"a producer that stops does not wait for ever", true, closingWithoutKafka},
}
