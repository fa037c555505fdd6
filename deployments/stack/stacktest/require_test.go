package stacktest

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// spy is a test that notes how it was ended.
type spy struct {
	testing.TB
	how string
}

func (s *spy) Helper() {}

func (s *spy) Skipf(format string, args ...any) { s.end("skip: ", format, args) }

func (s *spy) Fatalf(format string, args ...any) { s.end("fail: ", format, args) }

func (s *spy) end(how, format string, args []any) {
	s.how = how + fmt.Sprintf(format, args...)
	runtime.Goexit()
}

func TestWithoutAStack(t *testing.T) {
	f := func(ci, cassandra, want string) {
		t.Helper()
		t.Setenv("CI", ci)
		t.Setenv("FOOTFALL_TEST_KAFKA", "127.0.0.1:1")
		t.Setenv("FOOTFALL_TEST_CASSANDRA", cassandra)
		s := &spy{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			Require(s)
		}()
		<-done
		if !strings.HasPrefix(s.how, want) {
			t.Errorf("CI=%s: %q, want %q", ci, s.how, want)
		}
		if strings.Contains(want, "needs") && !strings.Contains(s.how, "run make up") {
			t.Errorf("%q does not say what to do", s.how)
		}
	}
	f("", "127.0.0.1:1", "skip: this test needs the real stack")
	f("true", "127.0.0.1:1", "fail: this test needs the real stack")
	f("", "127.0.0.1", "fail: reading FOOTFALL_TEST_CASSANDRA")
}
