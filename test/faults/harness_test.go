package faults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"footfall/test/e2e/oracle"
)

// How the test itself reads the log: an id counts again once it is out of the window, and a copy within the window renews it.
func TestTheLogDecidesWhatIsADuplicate(t *testing.T) {
	r := &reading{ids: map[string]bool{}, oracle: oracle.New()}
	last := map[identity]int64{}
	click := func(id string, offset int64, ip string) {
		t.Helper()
		value := fmt.Sprintf(`{"v":1,"id":%q,"short_url":"a","ip":%q,"ts":1538352000000}`, id, ip)
		if err := r.add(kafka.Message{Topic: "x-clicks", Offset: offset, Key: []byte("a|" + ip), Value: []byte(value)}, last); err != nil {
			t.Fatal(err)
		}
	}
	click("a", 0, "::1")
	click("b", 1, "::1")
	click("a", window, "::1") // within
	click("b", window+2, "::1")
	click("a", 2*window, "::1")   // within, counted from the copy
	click("a", 2*window+1, "::2") // another visitor
	if r.events != 6 || r.duplicates != 2 || r.oracle.Clicks != 4 || len(r.ids) != 2 {
		t.Errorf("%d events, %d duplicates, %d counted, %d ids", r.events, r.duplicates, r.oracle.Clicks, len(r.ids))
	}
	if got := r.oracle.Cells()[oracle.Name("urlshortener.clickcounter", "short_url", "a")]; got != 4 {
		t.Errorf("4 clicks are counted as %d", got)
	}
	last = map[identity]int64{{"a|::1", "c"}: -1, {"a|::1", "d"}: -1} // at the last offset before the topic grew
	click("c", window-1, "::1")
	click("d", window, "::1") // out of the window
	if r.duplicates != 3 || r.across != 1 {
		t.Errorf("%d duplicates, %d of them sent before the topic grew, want 3 and 1", r.duplicates, r.across)
	}
	for _, value := range []string{"", "{}", `{"v":2,"id":"x"}`} {
		if err := r.add(kafka.Message{Topic: "x-clicks", Value: []byte(value)}, last); err == nil {
			t.Errorf("%q was taken for an event", value)
		}
	}
}

func TestTheReportTellsWhatWasOff(t *testing.T) {
	text := report{
		{fault: "f", hits: "1 of 2", events: 3, cells: 4, wrong: 5, first: 9, repaired: 6, recovered: 1500 * time.Millisecond, doubts: 7,
			audit: "12 keys read in 3ms: 2 off, 0 repaired"},
		{fault: "c", control: true, hits: "1 of 1", events: 3, cells: 4, wrong: 5, clean: true},
		{fault: "g", failed: true, note: "n", clean: true},
	}.String()
	for _, want := range []string{
		"| f | 1 of 2 | 3 | 4 | 5 | 6 | 1.5 s | 7 doubts; 9 cells off at first; audit: 2 off, 0 repaired |\n",
		"| g |  | 0 | 0 | 0 | 0 | 0.0 s | FAILED; n |\n\n",
		"| c | 1 of 1 | 3 | 4 | 5 | the audit saw nothing |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
}
