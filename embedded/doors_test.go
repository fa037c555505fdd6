//go:build unix

package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"footfall/internal/kafka/dial/dialtest"
	"footfall/test/harness"
)

// fewFiles is the embedded binary where it may open few files.
func fewFiles() {
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 600, Max: 600}); err != nil {
		panic(err)
	}
	main()
}

var before = flag.String("before", "", "a `BINARY` of another commit, to see what it answers")

// self is the test binary as one of its programs, or the binary of another commit.
func self(t *testing.T, program string, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := harness.Self(t, program, env, args...)
	if *before != "" {
		if cmd.Path = *before; program == "embedded with few files" {
			cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `ulimit -n 600 && exec "$0" "$@"`, *before}, args...)
		}
		cmd.Env = slices.DeleteFunc(cmd.Env, func(set string) bool { return set == harness.As(program) })
	}
	return cmd
}

// greeted starts footfall as users do, and returns its greeting.
func greeted(t *testing.T, program string, env ...string) string {
	t.Helper()
	out := &harness.Buffer{}
	cmd := self(t, program, append([]string{"FOOTFALL_DATA_DIR=" + t.TempDir(), "FOOTFALL_HTTP_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_READER_ADDR=127.0.0.1:0", "FOOTFALL_HTTP_ADMIN_ADDR="}, env...))
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	harness.Within(t, patience, "it greets", func() error {
		if !strings.Contains(out.String(), "in a browser") {
			return errors.New(out.String())
		}
		return nil
	})
	return out.String()
}

func found(t *testing.T, pattern, in string) string {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(in)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, in)
	}
	return m[1]
}

// TestTheReaderIsEncryptedToo: with http.tls everything that the greeting names is https, and answers. An empty http.admin_addr is nowhere.
func TestTheReaderIsEncryptedToo(t *testing.T) {
	files := dialtest.NewFiles(t)
	greeting := greeted(t, "embedded", "FOOTFALL_HTTP_TLS_CERT="+files.Cert, "FOOTFALL_HTTP_TLS_KEY="+files.Key)
	if strings.Contains(greeting, "http://") || strings.Contains(greeting, "Metrics") {
		t.Errorf("the greeting names addresses that are not encrypted, or that nobody listens on: %s", greeting)
	}
	authority, err := os.ReadFile(files.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Timeout: patience, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	for _, url := range []string{found(t, `counts at (\S+),`, greeting) + "/healthz", found(t, `in a browser: (\S+)`, greeting)} {
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || response.Header.Get("Strict-Transport-Security") == "" {
			t.Errorf("%s: %s %v", url, response.Status, response.Header)
		}
	}
}

// TestOneClientOfTheReader does not take the file descriptors of the broker in the same process, nor the reader's connections.
func TestOneClientOfTheReader(t *testing.T) {
	greeting := greeted(t, "embedded with few files")
	producer, reader := found(t, `counts at http://(\S+),`, greeting), found(t, `in a browser: http://(\S+)`, greeting)
	dial := func(addr string, n int) (all []net.Conn) {
		for range n {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = conn.Close() })
			all = append(all, conn)
		}
		return all
	}
	exchange := func(conn net.Conn, format string, args ...any) (int, error) {
		if _, err := fmt.Fprintf(conn, format, args...); err != nil {
			return 0, err
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return 0, err
		}
		_, err = io.Copy(io.Discard, response.Body)
		return response.StatusCode, errors.Join(err, response.Body.Close())
	}
	senders := dial(producer, 60)
	for _, conn := range senders { // they are not idle, and the broker knows none of their events yet
		if status, err := exchange(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); status != http.StatusOK {
			t.Fatal(status, err)
		}
	}
	dial(reader, 700)
	var all sync.WaitGroup
	for i, conn := range senders {
		all.Go(func() {
			event := fmt.Sprintf(`{"short_url":"%d","ip":"203.0.113.7"}`, i)
			if status, err := exchange(conn, "POST /v1/clicks HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(event), event); status != http.StatusAccepted {
				t.Errorf("event %d beside 700 connections to the reader: %d, %v", i, status, err)
			}
		})
	}
	all.Wait()
	for _, conn := range dial(reader, 1) {
		if status, err := exchange(conn, "GET /v1/stats/links/abc HTTP/1.1\r\nHost: localhost\r\n\r\n"); status != http.StatusOK {
			t.Errorf("a question beside 700 connections: %d, %v", status, err)
		}
	}
}
