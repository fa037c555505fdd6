package stack

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// FreePorts searches here, below the ephemeral ports of Linux and macOS: a server that is killed and restarted needs its port again, and no
// outgoing connection may take it meanwhile.
const (
	firstPort = 20000
	lastPort  = 32000
)

// FreePorts returns n different ports that are free on all the addresses (default: 127.0.0.1). Nothing reserves them: another process may take
// them later.
func FreePorts(n int, addresses ...string) ([]int, error) {
	if len(addresses) == 0 {
		addresses = []string{loopback}
	}
	span := lastPort - firstPort
	start := rand.IntN(span)
	var ports []int
	for i := 0; i < span && len(ports) < n; i++ {
		port := firstPort + (start+i)%span
		if portsFree(port, addresses...) == nil {
			ports = append(ports, port)
		}
	}
	if len(ports) < n {
		return nil, fmt.Errorf("looking for %d free ports on %v: found %d", n, addresses, len(ports))
	}
	return ports, nil
}

// portsFree tries to listen on the port at every address.
func portsFree(port int, addresses ...string) error {
	var errs []error
	for _, a := range addresses {
		l, err := net.Listen("tcp", net.JoinHostPort(a, strconv.Itoa(port)))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
