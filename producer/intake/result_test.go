package intake

import (
	"encoding/json"
	"testing"
)

// TestResultsAsEncodingJSON: the hand-written encoding equals that of encoding/json.
func TestResultsAsEncodingJSON(t *testing.T) {
	for _, r := range []result{
		{}, {Index: 999, Status: 202, ID: "0190b0a0-0000-7000-8000-000000000000"}, {Index: 1, Status: 202, ID: `a"<\é` + "\n\xff"},
		{Index: 1, Status: 202, ID: "i", Reduced: "too_many_new_keys"}, {Index: 2, Status: 400, Error: "bad_json", Detail: `invalid character '}' after "id"`}, {Status: 503, ID: "i", Error: "overloaded"},
	} {
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.append([]byte("[")); string(got) != "["+string(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
