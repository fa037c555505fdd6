// Package health asks a running footfall process whether it is ready. It exists for container health checks: the images have no
// shell and no curl.
package health

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"
)

// Ask returns nil if the process that listens on addr, its http.addr, is ready. cert is the file of its own certificate, if it
// speaks TLS; empty if not.
func Ask(ctx context.Context, addr, cert string) error {
	target, err := reachable(addr)
	if err != nil {
		return err
	}
	scheme, transport := "http", &http.Transport{} // never through a proxy
	if cert != "" {
		scheme = "https"
		if transport.TLSClientConfig, err = pinned(cert); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://"+target+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("asking for health: %w", err)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("asking for health: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	return fmt.Errorf("not ready: %s: %s", response.Status, strings.TrimSpace(string(body)))
}

// pinned accepts the certificate in a file and no other. Its name is not looked at: it is the public's, and we dial loopback.
func pinned(file string) (*tls.Config, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading http.tls.cert: %w", err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("reading http.tls.cert: %s holds no PEM", file)
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, // VerifyConnection compares all of it
		VerifyConnection: func(s tls.ConnectionState) error {
			if !bytes.Equal(s.PeerCertificates[0].Raw, block.Bytes) {
				return errors.New("it has another certificate than http.tls.cert: restart it after a renewal")
			}
			return nil
		},
	}, nil
}

// reachable turns the address that a process listens on into one that can be dialled: one that listens on all addresses
// is asked on loopback.
func reachable(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("reading http.addr: %w", err)
	}
	if port == "0" {
		return "", fmt.Errorf("http.addr is %s: with port 0 nobody knows where it listens; name a port", addr)
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}
