package eventlog

import (
	"strings"
	"testing"
	"time"
)

// Kafka may keep clicks for as long as visitors.ip_ttl less RepairTime: visitors' rows must not expire before their clicks.
func TestCheckVisitorTTL(t *testing.T) {
	f := func(retention string, ttl time.Duration, refused bool) {
		t.Helper()
		err := checkVisitorTTL("clicks", map[string]string{"retention.ms": retention}, ttl)
		if refused != (err != nil) || refused && !strings.Contains(err.Error(), "visitors.ip_ttl") {
			t.Errorf("retention.ms %s, visitors.ip_ttl %v: %v", retention, ttl, err)
		}
	}
	f("90000000", 26*time.Hour, false)
	f("90000000", 26*time.Hour-time.Millisecond, true)
	f("-1", 1000*time.Hour, true)
}
