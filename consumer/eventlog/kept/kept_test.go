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

// Whoever writes to Kafka directly must not choose a time by which an event of a far month is not far ahead.
func TestMessagesOfTheFutureAreWarnedOf(t *testing.T) {
	f := func(kind, after string, warned bool) {
		t.Helper()
		found, err := Judge("visits", map[string]string{TimestampType: kind, TimestampAfter: after}, time.Hour, 0)
		if err != nil || warned != (len(found) == 1) || warned && (found[0].Refused || !strings.Contains(found[0].Remedy, TimestampAfter+"=")) {
			t.Errorf("%s, %s: %v, %v", kind, after, found, err)
		}
	}
	f("CreateTime", "3600000", false)
	f("CreateTime", "172800001", true)
	f("CreateTime", "9223372036854775807", true)
	f("LogAppendTime", "9223372036854775807", false)
}
