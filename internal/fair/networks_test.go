package fair

import (
	"fmt"
	"net/netip"
	"testing"
)

func TestNetworks(t *testing.T) {
	f := func(ip netip.Addr, want, customer string) {
		t.Helper()
		got := ""
		for _, n := range Networks(ip) {
			got += fmt.Sprintf("%s x%d ", n.Prefix, n.Times)
		}
		if got != want+" " || Customer(ip).String() != customer || Client(ip) != Networks(ip)[0].Prefix {
			t.Errorf("%s: %s, of %s", ip, got, Customer(ip))
		}
	}
	f(netip.MustParseAddr("203.0.113.7"), "203.0.113.7/32 x1 203.0.113.0/24 x64", "203.0.113.7/32")
	f(netip.MustParseAddr("2001:db8:1:2345::6"), "2001:db8:1:2345::/64 x1 2001:db8:1:2300::/56 x4 2001:db8:1::/48 x16", "2001:db8:1::/48")
	f(netip.Addr{}, "invalid Prefix x1 invalid Prefix x64", "invalid Prefix")
}
