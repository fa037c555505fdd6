package kept

import (
	"strings"
	"testing"
	"time"
)

// Kafka may keep clicks for as long as visitors.ip_ttl less RepairTime: visitors' rows must not expire before their clicks.
func TestCheckVisitorTTL(t *testing.T) {
	f := func(retention string, ttl time.Duration, refused bool) {
		t.Helper()
		found, err := Judge("clicks", map[string]string{"retention.ms": retention}, 25*time.Hour, ttl)
		if err != nil || refused != (len(found) == 1) || refused && !strings.Contains(found[0].Remedy, "visitors.ip_ttl") {
			t.Errorf("retention.ms %s, visitors.ip_ttl %v: %v, %v", retention, ttl, found, err)
		}
	}
	f("90000000", 26*time.Hour, false)
	f("90000000", 26*time.Hour-time.Millisecond, true)
	f("-1", 1000*time.Hour, true)
}
