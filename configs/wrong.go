package configs

import (
	"errors"
	"fmt"
	"net"
	"strings"
)

// Wrong is an error of the configuration: trying again does not help, changing it does. Binaries exit with 2 for it, as for
// a wrong command line.
type Wrong struct{ cause error }

// MarkWrong marks an error as one of the configuration; nil stays nil.
func MarkWrong(err error) error {
	if err == nil {
		return nil
	}
	return &Wrong{err}
}

// Error is the cause in one line, whatever libraries make of it.
func (w *Wrong) Error() string { return strings.Join(strings.Fields(w.cause.Error()), " ") }

func (w *Wrong) Unwrap() error { return w.cause }

// Final says that waiting cannot mend it (internal/retry).
func (w *Wrong) Final() bool { return true }

// checkAddr refuses what cannot be listened on, before anything else is tried.
func checkAddr(key, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		return fmt.Errorf("%s is %q: want host:port, such as 127.0.0.1:8080: %w", key, addr, err)
	}
	return nil
}

// CheckKafka refuses what neither a producer nor a consumer can begin with.
func CheckKafka(brokers []string, t Topics) error {
	switch {
	case len(brokers) == 0:
		return errors.New("kafka.brokers is empty")
	case t.Clicks == "" || t.Visits == "" || t.Dead == "":
		return errors.New("kafka.topics: clicks, visits and dead need a name each")
	}
	return nil
}
