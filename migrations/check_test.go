package migrations

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	all := []Migration{{Version: 1, Name: "a", Checksum: "x"}, {Version: 2, Name: "b", Checksum: "y"}}
	f := func(recorded map[int]string, want string) {
		t.Helper()
		err := compare(all, recorded)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("compare(%v) = %v, want %q", recorded, err, want)
		}
	}
	f(map[int]string{1: "x", 2: "y"}, "")
	f(map[int]string{1: "x"}, "consumer migrate")
	f(map[int]string{}, "consumer migrate")
	f(map[int]string{1: "x", 2: "y", 3: "z"}, "newer footfall")
	f(map[int]string{1: "edited", 2: "y"}, "never be edited")
}
