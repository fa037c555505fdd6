package intake

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// TestIDs makes ids with the same time in many goroutines: all are different, of version 7, and contain that time.
func TestIDs(t *testing.T) {
	now := time.UnixMilli(1538402700123)
	var mu sync.Mutex
	seen := map[string]bool{}
	var making sync.WaitGroup
	for range 4 {
		making.Go(func() {
			for range 2000 {
				id := newID(now)
				parsed, err := uuid.Parse(id)
				if err != nil || parsed.Version() != 7 || parsed.Variant() != uuid.RFC4122 {
					t.Errorf("%s: version %d, variant %v (%v)", id, parsed.Version(), parsed.Variant(), err)
				}
				if sec, nsec := parsed.Time().UnixTime(); sec != now.Unix() || nsec/1e6 != 123 {
					t.Errorf("%s was made at %d.%09d", id, sec, nsec)
				}
				mu.Lock()
				if seen[id] {
					t.Errorf("%s was made twice", id)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	making.Wait()
}
