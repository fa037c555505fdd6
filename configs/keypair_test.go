package configs

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// issue makes a certificate with a number and its key, in PEM.
func issue(t *testing.T, number int64) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(number), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

// put replaces a file as renewals do: a new one under the old name.
func put(t *testing.T, file string, text []byte) {
	t.Helper()
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// TestAKeyPairIsReadAgain: certificates are renewed while processes run. What is half renewed, or gone, changes nothing.
func TestAKeyPairIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	write := func(number int64) {
		c, k := issue(t, number)
		put(t, cert, c)
		put(t, key, k)
	}
	write(1)
	pair, err := LoadKeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	pair.clock = func() time.Time { return now }
	failures := 0
	pair.Failed = func(error) { failures++ }
	check := func(when string, number int64, failed int) {
		t.Helper()
		leaf, err := x509.ParseCertificate(pair.Current().Certificate[0])
		if err != nil || leaf.SerialNumber.Int64() != number || failures != failed {
			t.Errorf("%s: certificate %v, %d failures, %v; want %d, %d", when, leaf.SerialNumber, failures, err, number, failed)
		}
	}
	check("as it was", 1, 0)
	write(2)
	check("in the same moment", 1, 0) // the files are not looked at for every handshake
	now = now.Add(lookEvery)
	check("renewed", 2, 0)

	c, k := issue(t, 3)
	put(t, cert, c)
	now = now.Add(lookEvery)
	check("half renewed", 2, 1)
	check("half renewed, asked again at once", 2, 1)
	now = now.Add(lookEvery)
	check("still half renewed", 2, 1) // told once
	put(t, key, k)
	now = now.Add(lookEvery)
	check("wholly renewed", 3, 1)
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	now = now.Add(lookEvery)
	check("gone", 3, 2)

	if _, err := LoadKeyPair(cert, key); err == nil {
		t.Error("a pair that is not there was loaded")
	}
}

// TestAClientsCertificateIsReadAgain: so are those that we show to Kafka and Cassandra.
func TestAClientsCertificateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	files := TLS{Enabled: true, Insecure: true, Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	c, k := issue(t, 1)
	put(t, files.Cert, c)
	put(t, files.Key, k)
	client, err := files.Client()
	if err != nil {
		t.Fatal(err)
	}
	own, err := LoadKeyPair(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	number := func() int64 { // of the certificate that a server sees which asks for one
		near, far := net.Pipe()
		server := tls.Server(far, &tls.Config{Certificates: []tls.Certificate{*own.Current()}, ClientAuth: tls.RequireAnyClientCert})
		go func() { _ = tls.Client(near, client.Clone()).Handshake() }() // the server has the result
		if err := server.Handshake(); err != nil {
			t.Fatal(err)
		}
		_, _ = near.Close(), far.Close()
		return server.ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if n := number(); n != 1 {
		t.Errorf("certificate %d is shown", n)
	}
	c, k = issue(t, 2)
	put(t, files.Cert, c)
	put(t, files.Key, k)
	for deadline := time.Now().Add(10 * time.Second); number() != 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the old certificate is still shown")
		}
	}
}

func TestCertificatesComeInPairs(t *testing.T) {
	for _, c := range []ServerTLS{{"a", ""}, {"", "a"}, {"none.pem", "none.pem"}} {
		var wrong *Wrong
		if _, err := c.KeyPair(); !errors.As(err, &wrong) || !strings.Contains(err.Error(), "http.tls") {
			t.Errorf("%v: %v", c, err)
		}
	}
	if pair, err := (ServerTLS{}).KeyPair(); pair != nil || err != nil {
		t.Errorf("none: %v, %v", pair, err)
	}
}
