package table

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestTextIsJSON: it means the same as what encoding/json writes, and has nothing that a terminal or a browser would take for more.
func TestTextIsJSON(t *testing.T) {
	f := func(text string) {
		t.Helper()
		var back string
		got := AppendJSON(nil, text)
		if err := json.Unmarshal(got, &back); err != nil || back != text || strings.ContainsAny(string(got), "<>&\u202e\u200b\x1b") {
			t.Errorf("%q: %s, %q, %v", text, got, back, err)
		}
	}
	for r := rune(0); r < 0x3000; r++ {
		f(fmt.Sprintf("a%cb", r))
	}
	f("\U0001F468\u200d\U0001F469 \U000E0041 日本")
}
