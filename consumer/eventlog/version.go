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

// DecisionVersion is the version of what consumers decide about the log: what is a duplicate, who is a visitor's first, what an event
// adds to which cells, what is refused. Whoever changes what is decided about any event raises it, with a line here. Consumers of two versions do
// not count at the same time. A change that decides as before leaves it as it is, and is upgraded to one consumer after the other.
//
//	0: consumers that do not say their version.
//	1: dead letters do not make the duplicate window forget ids; new topics tell duplicates by visitor and id.
const DecisionVersion = 1

// NewOwnerName names this process for the table owners, with what it decides by. The version is part of the name, and not a column: a consumer
// that knows nothing of versions takes a partition under its own name, and would leave such a column as it is.
func NewOwnerName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return fmt.Sprintf("%s/%d/%s/v%d", host, os.Getpid(), uuid.NewString(), DecisionVersion)
}

// VersionOf is what an owner decides by; 0 if its name does not say.
func VersionOf(owner string) int {
	_, version, _ := cutLast(owner, "/v")
	n, err := strconv.Atoi(version)
	if err != nil {
		return 0
	}
	return n
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// OwnersOfOtherVersions lists those who took partitions that are counted last, and decide by another version. Others are nobody's: those that
// somebody had added, and earlier versions took all the same, would be waited for in vain.
func OwnersOfOtherVersions(ctx context.Context, db store.Store, counts func(models.Partition) bool) ([]store.Owner, error) {
	owners, err := db.Owners(ctx)
	return slices.DeleteFunc(owners, func(o store.Owner) bool {
		return !counts(o.Partition) || VersionOf(o.Name) == DecisionVersion
	}), err
}

// Held tells of an owner that has not left.
func Held(o store.Owner) bool { return !o.Clean }

// DescribeOtherVersion says whom we cannot count beside.
func DescribeOtherVersion(others []store.Owner) string {
	other := others[slices.IndexFunc(others, Held)]
	return fmt.Sprintf("consumer %s, which has partition %d of topic %s, decides about events by version %d and this one by"+
		" version %d: together they would count wrong. Stop all consumers of one version before the first of the other is started"+
		" (docs/operations.md, Upgrading)", other.Name, other.Partition.Number, other.Partition.Topic, VersionOf(other.Name), DecisionVersion)
}
