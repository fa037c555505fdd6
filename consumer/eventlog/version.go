package eventlog

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"footfall/consumer/store"
	"footfall/models"
)

// DecisionVersion is the version of what consumers decide about events: duplicates, first events of visitors, which cells an event adds
// to, what is refused, and what a successor of a crashed owner doubts. A change that decides otherwise about any event has to raise it, with a line here. Consumers of two versions never
// count at the same time, so such an upgrade stops all of them. Within one version, consumers are upgraded one after the other.
//
//	0: consumers whose name has no version.
//	1: dead letters do not make the duplicate window forget ids; new topics tell duplicates by visitor and id.
//	2: a chunk may have 50,000 offsets of a partition instead of 16,000, so that a successor doubts more.
//	3: events far ahead of their message's Kafka time are dead letters; visitors are looked up by what is asked beyond 32 entries.
//	4: so are those that were written before a consumer of version 3 first counted their topic; no topic tells duplicates by the id alone.
//	5: clicks add to counters by month.
const DecisionVersion = 5

// NewOwnerName makes this process's name for the table owners, with its DecisionVersion. The version is not a column of its own: an older
// consumer that takes the partition would set its name, but leave the column as it was.
func NewOwnerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s/v%d", host, os.Getpid(), uuid.NewString(), DecisionVersion)
}

// VersionOf returns the DecisionVersion in an owner's name; 0 if there is none.
func VersionOf(owner string) int {
	_, version, _ := strings.Cut(owner, "/v")
	n, _ := strconv.Atoi(version)
	return n
}

// OwnersOfOtherVersions lists the owners of partitions that have another DecisionVersion. It leaves out what counts rejects, such as a topic that is
// configured no more: nobody would ever take that over.
func OwnersOfOtherVersions(ctx context.Context, db store.Store, counts func(models.Partition) bool) ([]store.Owner, error) {
	owners, err := db.Owners(ctx)
	return slices.DeleteFunc(owners, func(o store.Owner) bool {
		return !counts(o.Partition) || VersionOf(o.Name) == DecisionVersion
	}), err
}

// Held tells whether the owner still has its partition, or crashed with it.
func Held(o store.Owner) bool { return !o.Clean }

// DescribeOtherVersion describes the first of these owners that holds its partition, and what to do. It panics if none does.
func DescribeOtherVersion(others []store.Owner) string {
	other := others[slices.IndexFunc(others, Held)]
	return fmt.Sprintf("consumer %s, which has partition %d of topic %s, decides about events by version %d and this one by"+
		" version %d: together they would count wrong. Stop all consumers of one version before you start the first of the other"+
		" (docs/operations.md, Upgrading)", other.Name, other.Partition.Number, other.Partition.Topic, VersionOf(other.Name), DecisionVersion)
}
