// Package fair divides what is scarce among those who want it, for producer and reader: networks.go says which addresses count as one
// client, shares.go who may take one place more, budget.go has the token buckets.
package fair

import "net/netip"

// Network is a network that an address counts for, and how many times as much as one client it may have.
type Network struct {
	netip.Prefix
	Times int
}

// Networks are those that an address counts for: the client's (an IPv4 address, or the /64 of an IPv6 address), and the wide ones. A
// customer of a hoster often has a whole /24, /56 or /48, and each client in it would be another one. A wide network may also be
// thousands of phones, so it may have more. No address, as on a Unix socket, is a client, too.
func Networks(ip netip.Addr) []Network {
	if ip.Is6() {
		return []Network{{prefix(ip, 64), 1}, {prefix(ip, 56), 4}, {prefix(ip, 48), 16}}
	}
	return []Network{{prefix(ip, 32), 1}, {prefix(ip, 24), 64}}
}

// Client is the network that counts as one client: the first of Networks.
func Client(ip netip.Addr) netip.Prefix { return Networks(ip)[0].Prefix }

// Customer is the network that counts as one where nobody has a key: an IPv4 address, or the /48 of an IPv6 address.
func Customer(ip netip.Addr) netip.Prefix {
	if ip.Is6() {
		return prefix(ip, 48)
	}
	return prefix(ip, 32)
}

func prefix(ip netip.Addr, bits int) netip.Prefix {
	network, _ := ip.Prefix(bits) // none for no address
	return network
}
