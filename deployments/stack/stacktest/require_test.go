package stacktest

import (
	"flag"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// spy is a testing.TB that records how it was ended.
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
	f := func(short bool, ci, cassandra, want string) {
		t.Helper()
		setShort(t, short)
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
		if strings.Contains(want, "needs") && !short && !strings.Contains(s.how, "run make up") {
			t.Errorf("%q does not say what to do", s.how)
		}
	}
	f(false, "", "127.0.0.1:1", "skip: this test needs the real stack")
	f(false, "true", "127.0.0.1:1", "fail: this test needs the real stack")
	f(false, "", "127.0.0.1", "fail: reading FOOTFALL_TEST_CASSANDRA")
	f(true, "true", "127.0.0.1:1", "skip: this test needs the real stack: not with -short")
}

// With -short private servers are not started either.
func TestShortStartsNoServer(t *testing.T) {
	setShort(t, true)
	startsNone(t)
}

func TestSharedServersStartsNoServer(t *testing.T) {
	setShort(t, false)
	t.Setenv("CI", "true")
	t.Setenv(servers, "shared")
	startsNone(t)
}

func startsNone(t *testing.T) {
	t.Helper()
	for name, start := range map[string]func(testing.TB){
		"Kafka":     func(tb testing.TB) { Kafka(tb) },
		"Cassandra": func(tb testing.TB) { Cassandra(tb, 1) },
	} {
		s := &spy{TB: t}
		done := make(chan struct{})
		go func() {
			defer close(done)
			start(s)
		}()
		<-done
		if !strings.HasPrefix(s.how, "skip: ") {
			t.Errorf("%s: %q, want a skip", name, s.how)
		}
	}
}

// setShort sets -short until the test ends.
func setShort(t *testing.T, short bool) {
	t.Helper()
	f := flag.Lookup("test.short")
	before := f.Value.String()
	t.Cleanup(func() { _ = f.Value.Set(before) }) // it was a value of this flag
	if err := f.Value.Set(strconv.FormatBool(short)); err != nil {
		t.Fatal(err)
	}
}
