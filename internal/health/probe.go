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

// Ask returns nil if the process whose health server listens on addr is ready, else an error that says why not, after 4 seconds at most. key
// is the configuration key of addr, for errors. It is for container health checks: the images have no shell and no curl.
func Ask(ctx context.Context, key, addr string) error {
	target, err := Reachable(key, addr)
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

// Reachable turns an address to listen on into one to connect to: for a process that listens on all addresses, that is localhost. key
// is the configuration key of addr, for errors.
func Reachable(key, addr string) (string, error) {
	if addr == "" {
		return "", fmt.Errorf("%s is empty: set it to the address that the running process listens on", key)
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", key, err)
	}
	if port == "0" {
		return "", fmt.Errorf("%s is %s: with port 0 the system chooses the port; set a fixed one", key, addr)
	}
	if ip, err := netip.ParseAddr(host); host == "" || (err == nil && ip.IsUnspecified()) {
		host = "localhost"
	}
	return net.JoinHostPort(host, port), nil
}
