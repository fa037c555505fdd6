package migrations

import (
	"strings"
	"testing"

	"footfall/internal/retry"
)

func TestCompare(t *testing.T) {
	all := []Migration{{Version: 1, Name: "a", Checksum: "x"}, {Version: 2, Name: "b", Checksum: "y"}}
	f := func(recorded map[int]string, want string, final bool) {
		t.Helper()
		err := compare(all, recorded)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) || retry.IsFinal(err) != final {
			t.Errorf("compare(%v) = %v, final %t; want %q, %t", recorded, err, retry.IsFinal(err), want, final)
		}
	}
	f(map[int]string{1: "x", 2: "y"}, "", false)
	f(map[int]string{1: "x"}, "consumer migrate", false) // somebody may be migrating
	f(map[int]string{2: "y"}, "consumer migrate", false)
	f(map[int]string{}, "consumer migrate", false)
	f(map[int]string{1: "x", 2: "y", 3: "z"}, "newer footfall", true)
	f(map[int]string{1: "edited", 2: "y"}, "never be edited", true)
}
