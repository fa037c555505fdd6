package health

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// selfSigned makes a certificate for a name that nobody dials, and writes it to a file.
func selfSigned(t *testing.T) (pair tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"count.example"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// TestAskOverTLS: the check believes the producer's own certificate and no other.
func TestAskOverTLS(t *testing.T) {
	pair, file := selfSigned(t)
	_, other := selfSigned(t)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	defer server.Close()
	addr := server.Listener.Addr().String()
	if err := Ask(t.Context(), addr, file); err != nil {
		t.Error(err)
	}
	for cert, want := range map[string]string{other: "another certificate", "none.pem": "none.pem", "health.go": "holds no PEM", "": "400"} {
		if err := Ask(t.Context(), addr, cert); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("with %q: %v, want %q", cert, err, want)
		}
	}
}
