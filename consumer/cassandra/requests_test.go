package cassandra

import (
	"fmt"
	"slices"
	"testing"

	"footfall/internal/cql"
	"footfall/models"
)

// twins are two links with the same token. Anybody can find such names.
var twins = [2]string{"O58QaIsQ7ed7KvwZ1Pfs7QN8RrGI_Pwa", "Gt3Zu5inOzqchTwGvywKPAFvAYrMxzma"}

func clickOn(link, ip string) models.Sighting {
	return models.Sighting{Keyspace: models.URLShortener, Name: link, Visitor: ip}
}

func TestPackRequests(t *testing.T) {
	differ := func(_, _ requestPart) bool { return false }
	equal := func(a, b requestPart) bool { return a.token == b.token }
	f := func(what string, same func(a, b requestPart) bool, want []int, list ...requestPart) {
		t.Helper()
		for i := range list {
			list[i].index = int32(i)
		}
		var got []int
		for _, request := range packRequests(list, rowsPerRequest, same) {
			got = append(got, len(request))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: requests of %v parts, want %v", what, got, want)
		}
	}
	repeat := func(n int, p requestPart) []requestPart { return slices.Repeat([]requestPart{p}, n) }
	apart := func(n int) (list []requestPart) {
		for i := range n {
			list = append(list, requestPart{token: int64(-i), bytes: 1})
		}
		return list
	}
	f("nothing", differ, nil)
	f("many partitions", differ, []int{10, 10, 5}, apart(25)...)
	f("large ones", differ, []int{1, 1, 2}, requestPart{token: 1, bytes: requestBytes + 1}, requestPart{token: 2, bytes: requestBytes}, requestPart{token: 3, bytes: 10}, requestPart{token: 4, bytes: 10})
	f("one partition may be large", equal, []int{40}, repeat(40, requestPart{token: 7, bytes: 1000})...)
	f("but not without end", equal, []int{64, 64, 2}, repeat(130, requestPart{token: 7, bytes: 1000})...)
	f("partitions with one token", differ, []int{4, 4, 2}, repeat(10, requestPart{token: 7, bytes: 1000})...)
	f("two keyspaces", equal, []int{2, 1}, requestPart{kind: 1}, requestPart{kind: 0}, requestPart{kind: 0})
}

// Two links with the same token are two partitions, in whatever order their visitors come.
func TestPackRequestsSeparatesLinksWithTheSameToken(t *testing.T) {
	if cql.Token([]byte(twins[0])) != cql.Token([]byte(twins[1])) {
		t.Fatal("the two links have different tokens")
	}
	var sightings []models.Sighting
	for i := range 6 {
		sightings = append(sightings, clickOn(twins[i%2], fmt.Sprint("192.0.2.", i)))
	}
	for _, request := range append(lookups(sightings), packRequests(placed(sightings, 100), rowsPerRequest, sameLink(sightings))...) {
		for rest := request; len(rest) > 0; {
			part := onePartition(rest, rowsPerRequest, sameLink(sightings))
			for _, row := range part {
				if sightings[row.index].Name != sightings[part[0].index].Name {
					t.Errorf("%s and %s are taken for one partition", sightings[row.index].Name, sightings[part[0].index].Name)
				}
			}
			rest = rest[len(part):]
		}
	}
}

// Every sighting is in one read.
func TestLookups(t *testing.T) {
	var sightings []models.Sighting
	for i := range 300 {
		sightings = append(sightings, clickOn(fmt.Sprint("link", i%7), fmt.Sprint("192.0.2.", i%250, ".", i)))
	}
	asked := map[int32]int{}
	for _, request := range lookups(sightings) {
		for _, row := range request {
			asked[row.index]++
		}
	}
	for i := range sightings {
		if asked[int32(i)] != 1 {
			t.Fatalf("%+v is asked for %d times", sightings[i], asked[int32(i)])
		}
	}
}
