package health

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// Ask returns nil if the process that answers operators at addr is ready. key is the key of the configuration that addr is from. It
// exists for container health checks: the images have no shell and no curl.
func Ask(ctx context.Context, key, addr string) error {
	target, err := reachable(key, addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 4*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+target+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("asking for health: %w", err)
	}
	response, err := (&http.Client{Transport: &http.Transport{}}).Do(request) // never through a proxy
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

// reachable turns the address that a process listens on into one that can be dialled: one that listens on all addresses
// is asked on loopback.
func reachable(key, addr string) (string, error) {
	if addr == "" {
		return "", fmt.Errorf("%s is empty: nobody can be asked; set it, as the process has it", key)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", key, err)
	}
	if port == "0" {
		return "", fmt.Errorf("%s is %s: with port 0 nobody knows where it listens; name a port", key, addr)
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}
