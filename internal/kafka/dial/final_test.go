package dial_test

import (
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/segmentio/kafka-go"

	"footfall/internal/kafka/dial"
	"footfall/internal/retry"
)

// A refused login or permission is not waited for. Everything that a starting cluster answers is.
func TestMarkFinal(t *testing.T) {
	f := func(err error, want bool) {
		t.Helper()
		marked := dial.MarkFinal(fmt.Errorf("asking: %w", err))
		if retry.IsFinal(marked) != want || marked.Error() != "asking: "+err.Error() {
			t.Errorf("%v: final is %t, want %t", marked, !want, want)
		}
	}
	for _, err := range []error{
		kafka.SASLAuthenticationFailed, kafka.UnsupportedSASLMechanism, kafka.TopicAuthorizationFailed, kafka.GroupAuthorizationFailed, kafka.ClusterAuthorizationFailed,
		kafka.PolicyViolation, kafka.InvalidTopic,
	} {
		f(err, true)
	}
	for _, err := range []error{
		kafka.LeaderNotAvailable, kafka.GroupCoordinatorNotAvailable, kafka.GroupLoadInProgress, kafka.NotController, kafka.InvalidReplicationFactor, kafka.RequestTimedOut,
		kafka.UnknownTopicOrPartition, kafka.BrokerNotAvailable, io.EOF, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
	} {
		f(err, false)
	}
	if dial.MarkFinal(nil) != nil {
		t.Error("nil is marked")
	}
}
