package configs

import (
	"errors"
	"fmt"
	"net"
	"os"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
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

// explain words what the decoder says for somebody who configures: which key of the file or the environment, and what is wanted instead.
func explain(file string, err error) error {
	switch e := err.(type) { //nolint:errorlint // a tree of errors
	case *mapstructure.DecodeError:
		return explainOne(file, strings.ToLower(e.Name()), e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []error
		for _, err := range e.Unwrap() {
			all = append(all, explain(file, err))
		}
		return errors.Join(all...)
	case interface{ Unwrap() error }:
		return explain(file, e.Unwrap())
	}
	return err
}

func explainOne(file, key string, cause error) error {
	if unknown, is := strings.CutPrefix(cause.Error(), "has invalid keys: "); is {
		return fmt.Errorf("%s has unknown keys: %s (configs/*.yaml list every key)", strings.TrimSuffix(file+": "+key, ": "), unknown)
	}
	var (
		unreadable *mapstructure.ParseError
		another    *mapstructure.UnconvertibleTypeError
	)
	if _, set := os.LookupEnv(Variable(key)); set {
		key = Variable(key)
	} else if file != "" {
		key += " in " + file
	}
	switch {
	case errors.As(cause, &unreadable):
		return fmt.Errorf("%s is %q: want %s", key, unreadable.Value, wanted(unreadable.Expected.Kind()))
	case errors.As(cause, &another):
		return fmt.Errorf("%s: want %s", key, wanted(another.Expected.Kind()))
	}
	return fmt.Errorf("%s %w", key, cause)
}

func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "keys below it"
	}
	return "a number"
}

// Variable returns the environment variable that sets a key.
func Variable(key string) string {
	return prefix + "_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

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
