package intake_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"footfall/configs"
	"footfall/test/e2e/load"
)

// certificate writes a certificate for 127.0.0.1 and its key.
func certificate(t *testing.T) (cert, key string, roots *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	must(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	must(t, err)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	must(t, os.WriteFile(cert, text, 0o600))
	must(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	roots = x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	return cert, key, roots
}

// renewed: a producer uses a renewed certificate for the next connection, and the old one while the new files are incomplete.
func renewed(t *testing.T, b broker) {
	cert, key, _ := certificate(t)
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.HTTP.TLS.Cert, cfg.HTTP.TLS.Key = cert, key })
	shown := func(roots *x509.CertPool) bool {
		conn, err := tls.Dial("tcp", d.addr, &tls.Config{RootCAs: roots})
		if err != nil {
			return false
		}
		must(t, conn.Close())
		return true
	}
	newCert, newKey, roots := certificate(t)
	must(t, os.Rename(newCert, cert))
	eventually(t, "the log tells of half a renewal", 10*time.Second, func() bool {
		return !shown(roots) && strings.Contains(d.log.String(), "the previous certificate stays in use")
	})
	must(t, os.Rename(newKey, key))
	eventually(t, "the new certificate is shown", 10*time.Second, func() bool { return shown(roots) })
}

// encrypted: with a certificate the producer accepts TLS only, and failed handshakes do not get into the log.
func encrypted(t *testing.T, b broker) {
	cert, key, roots := certificate(t)
	d := startServer(t, b, func(cfg *configs.Producer) { cfg.HTTP.TLS.Cert, cfg.HTTP.TLS.Key = cert, key })
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	response, err := client.Post("https://"+d.addr+"/track?siteId=s", formType, strings.NewReader("guid=g&id=secret"))
	must(t, err)
	must(t, response.Body.Close())
	if h := response.Header; response.StatusCode != http.StatusAccepted || h.Get("Strict-Transport-Security") != "max-age=31536000" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("over TLS: %s, %v", response.Status, h)
	}
	if conn, err := tls.Dial("tcp", d.addr, &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
		_ = conn.Close()
	}
	conn, err := net.Dial("tcp", d.addr)
	must(t, err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "POST /track?siteId=s HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nguid=g")
	must(t, err)
	if text, _ := io.ReadAll(conn); strings.Contains(string(text), "202") {
		t.Errorf("plain HTTP at a TLS port: %s", text)
	}
	if in := ids(t, d.broker, d.topics.Visits); len(in) != 1 || in["secret"] != 1 {
		t.Errorf("in Kafka: %v", in)
	}
	if log := d.log.String(); strings.Count(log, "127.0.0.1") != 2 || strings.Contains(log, "handshake") { // where it listens
		t.Errorf("log: %s", log)
	}
}

// slowClients are disconnected: without a header after 5 s, without a body after 15 s, and without more of a compressed body, which may
// become large, after 1 s. All run at once, so that the test takes as long as the longest.
func slowClients(t *testing.T, b broker) {
	if testing.Short() {
		t.Skip("waits 15 s for timeouts")
	}
	d := startServer(t, b, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := func(text, want string, after, before time.Duration) <-chan error {
		result := make(chan error, 1)
		go func() {
			conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", d.addr)
			if err != nil {
				result <- err
				return
			}
			defer func() { _ = conn.Close() }()
			began := time.Now()
			if _, err := io.WriteString(conn, text); err != nil {
				result <- err
				return
			}
			answer, _ := io.ReadAll(bufio.NewReader(conn)) // until the producer closes it
			if took := time.Since(began); took < after || took > before || !strings.Contains(string(answer), want) {
				result <- fmt.Errorf("%q ended after %v with %q", text, took, answer)
				return
			}
			result <- nil
		}()
		return result
	}
	header := ended("POST /track HTTP/1.1\r\nHost: x\r\n", "", 4*time.Second, 10*time.Second)
	body := ended("POST /track HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 100\r\n\r\nguid=", "body_timeout", 14*time.Second, 25*time.Second)
	zipped := ended("POST /v1/visits HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n"+load.Zipped, "body_timeout", time.Second/2, 5*time.Second)
	for _, result := range []<-chan error{header, body, zipped} {
		if err := <-result; err != nil {
			t.Error(err)
		}
	}
}
