package dial

import (
	"errors"
	"slices"

	"github.com/segmentio/kafka-go"

	"footfall/internal/retry"
)

// final are answers of Kafka that no waiting mends: a refused login or permission, or a request that it never accepts. All others may be
// temporary: a starting broker refuses connections, then has no leaders, then too few brokers for the replicas.
var final = []error{
	kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.IllegalSASLState,
	kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
	kafka.InvalidTopic, kafka.InvalidPartitionNumber, kafka.PolicyViolation, kafka.UnsupportedVersion,
}

// MarkFinal marks an error that waiting for Kafka cannot mend (retry.Final): one of final. Others stay as they are.
func MarkFinal(err error) error {
	if slices.ContainsFunc(final, func(f error) bool { return errors.Is(err, f) }) {
		return retry.Final(err)
	}
	return err
}
