package cql

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/internal/kafka/dial/dialtest"
)

// wire is a fake Cassandra node that records logins: it speaks the native protocol up to the password, and then closes the connection.
type wire struct {
	net.Listener
	logins chan string // "\x00user\x00password" as PasswordAuthenticator wants it
}

func startWire(t *testing.T, secure *tls.Config) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if secure != nil {
		l = tls.NewListener(l, secure)
	}
	w := &wire{l, make(chan string, 100)}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go w.serve(conn)
		}
	}()
	return w
}

func (w *wire) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	in := bufio.NewReader(conn)
	for {
		var header [9]byte // version, flags, stream (2), opcode, length (4)
		if _, err := io.ReadFull(in, header[:]); err != nil {
			return
		}
		body := make([]byte, binary.BigEndian.Uint32(header[5:]))
		if _, err := io.ReadFull(in, body); err != nil {
			return
		}
		answer := func(opcode byte, body string) {
			out := append([]byte{0x84, 0, header[2], header[3], opcode}, binary.BigEndian.AppendUint32(nil, uint32(len(body)))...)
			_, _ = conn.Write(append(out, body...))
		}
		switch header[4] {
		case 0x05: // OPTIONS
			answer(0x06, "\x00\x00")
		case 0x01: // STARTUP
			const name = "org.apache.cassandra.auth.PasswordAuthenticator"
			answer(0x03, "\x00"+string(rune(len(name)))+name)
		case 0x0f: // AUTH_RESPONSE: a length and the token
			w.logins <- string(body[4:])
			return
		default:
			return
		}
	}
}

// login connects and returns the login that the node got.
func (w *wire) login(t *testing.T, cfg configs.CassandraClient) string {
	t.Helper()
	cfg.Hosts, cfg.Port, cfg.Timeout = []string{"127.0.0.1"}, w.Addr().(*net.TCPAddr).Port, time.Second
	if session, err := Connect(t.Context(), cfg); err == nil {
		session.Close()
		t.Fatal("connected to the fake node")
	}
	select {
	case login := <-w.logins:
		return login
	default:
		return ""
	}
}

func TestLoginAndTLS(t *testing.T) {
	files := dialtest.NewFiles(t)
	user := configs.CassandraClient{Username: "footfall", Password: "secret"}
	const want = "\x00footfall\x00secret"
	secured := func(tls configs.TLS) configs.CassandraClient {
		c := user
		c.TLS = tls
		return c
	}
	f := func(name string, w *wire, cfg configs.CassandraClient, want string) {
		t.Helper()
		if got := w.login(t, cfg); got != want {
			t.Errorf("%s: the node got %q, want %q", name, got, want)
		}
	}
	f("password", startWire(t, nil), user, want)
	f("none", startWire(t, nil), configs.CassandraClient{}, "")
	encrypted := startWire(t, files.Server)
	f("TLS", encrypted, secured(configs.TLS{Enabled: true, CA: files.CA}), want)
	f("insecure TLS", encrypted, secured(configs.TLS{Enabled: true, Insecure: true}), want)
	f("no TLS", encrypted, user, "")
	f("unknown authority", encrypted, secured(configs.TLS{Enabled: true}), "")
	f("other authority", encrypted, secured(configs.TLS{Enabled: true, CA: dialtest.NewFiles(t).CA}), "")
	f("TLS to a node without", startWire(t, nil), secured(configs.TLS{Enabled: true, CA: files.CA}), "")
	papers := files.Server.Clone()
	papers.ClientAuth = tls.RequireAnyClientCert
	f("no certificate of our own", startWire(t, papers), secured(configs.TLS{Enabled: true, CA: files.CA}), "")
	f("certificate of our own", startWire(t, papers), secured(configs.TLS{Enabled: true, CA: files.CA, Cert: files.Cert, Key: files.Key}), want)
}

func TestConnectNamesMistakesOfTheLogin(t *testing.T) {
	for want, cfg := range map[string]configs.CassandraClient{
		"cassandra.hosts":           {Timeout: time.Second},
		"cassandra.timeout":         {Hosts: []string{"127.0.0.1"}},
		"cassandra.keyspace_suffix": {Hosts: []string{"127.0.0.1"}, Timeout: time.Second, KeyspaceSuffix: "-bad"},
		"cassandra.username":        {Hosts: []string{"127.0.0.1"}, Timeout: time.Second, Password: "secret"},
		"cassandra.tls":             {Hosts: []string{"127.0.0.1"}, Timeout: time.Second, TLS: configs.TLS{CA: "ca.pem"}},
	} {
		if _, err := Connect(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
