package cassandra

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// Requests wait for their turn, are under way, and are neither afterwards: also those that never began.
func TestRequestsInFlight(t *testing.T) {
	s := &Store{inFlight: 2, traffic: newTraffic()}
	want := func(inFlight, waiting float64) {
		t.Helper()
		if f, w := testutil.ToFloat64(s.traffic.inFlight), testutil.ToFloat64(s.traffic.waiting); f != inFlight || w != waiting {
			t.Errorf("%v requests are under way and %v wait, want %v and %v", f, w, inFlight, waiting)
		}
	}
	for _, outcome := range []error{nil, errors.New("refused")} {
		begun, release, ended := make(chan struct{}, 7), make(chan struct{}), make(chan error)
		go func() {
			ended <- s.each(context.Background(), 7, func(context.Context, int) error {
				begun <- struct{}{}
				<-release
				return outcome
			})
		}()
		<-begun
		<-begun
		want(2, 5)
		close(release)
		if err := <-ended; !errors.Is(err, outcome) {
			t.Fatal(err)
		}
		want(0, 0)
	}
}
