package web

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"footfall/configs"
)

// certificate writes one for 127.0.0.1, and its key.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

func TestServeEncrypted(t *testing.T) {
	cert, key := certificate(t)
	pair, err := configs.ServerTLS{Cert: cert, Key: key}.KeyPair()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- newServer(t, newFake(), open, func(c *Config) { c.TLS = pair }).Serve(ctx, l) }()
	authorities := x509.NewCertPool()
	text, err := os.ReadFile(cert)
	if err != nil || !authorities.AppendCertsFromPEM(text) {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}}}
	response, err := client.Get("https://" + l.Addr().String() + "/v1/stats/links/abc")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != 200 || response.Header.Get("Strict-Transport-Security") == "" || response.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s %v", response.Status, response.Header)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if w := get(newServer(t, newFake(), open, nil), "/healthz"); w.Header().Get("Strict-Transport-Security") != "" {
		t.Error("plain HTTP promises TLS")
	}
}
