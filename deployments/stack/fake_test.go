package stack

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test binary a fake server if its first argument is a marker: launch starts it in place of java.
func TestMain(m *testing.M) {
	if mode := os.Getenv("STACK_TEST_SERVER"); mode != "" {
		serve(mode)
	}
	os.Exit(m.Run())
}

// serve listens on the port in the last argument and never returns. Mode "broken" ends with a message instead; "stubborn" ignores SIGTERM.
func serve(mode string) {
	switch mode {
	case "broken":
		fmt.Println("FATAL: the data folder is a teapot")
		os.Exit(3)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
	}
	l, err := net.Listen("tcp", loopback+":"+os.Args[len(os.Args)-1])
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			os.Exit(1)
		}
		fmt.Fprintln(conn, "here")
		_ = conn.Close()
	}
}

// fake is a launch of the test binary in one of serve's modes.
func fake(t *testing.T, mode string) launch {
	t.Helper()
	t.Setenv("STACK_TEST_SERVER", mode)
	ports, err := FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	port := ports[0]
	l := launch{process: process{name: "fake", dir: t.TempDir()}, tether: true, logf: t.Logf,
		ports: map[int]string{port: loopback},
		line:  func(context.Context) ([]string, error) { return []string{os.Args[0], strconv.Itoa(port)}, nil },
		ask: func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", loopback+":"+strconv.Itoa(port))
			if err != nil {
				return err
			}
			defer func() { _ = conn.Close() }()
			if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
				return err
			}
			b := make([]byte, 16)
			n, err := conn.Read(b)
			if err == nil && !strings.HasPrefix(string(b[:n]), "here") {
				err = fmt.Errorf("answered %q", b[:n])
			}
			return err
		}}
	t.Cleanup(func() {
		if err := l.kill(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// within returns a context that bounds how long a test waits.
func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
