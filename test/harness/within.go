package harness

import (
	"testing"
	"time"
)

// Within calls try until it returns nil, twenty times a second. After patience it fails the test with what and the last error.
func Within(t testing.TB, patience time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
