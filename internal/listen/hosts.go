package listen

import (
	"net"
	"net/netip"
	"slices"
	"strings"
)

// Hosts decides by a request's header Host whether a listener answers. A page elsewhere can give its own name any address, also 127.0.0.1 (DNS
// rebinding), but it cannot change the name.
type Hosts struct {
	restricted bool
	names      []string
}

// HostsOf are the names of a listener: on a loopback address localhost and loopback addresses, and the further names; on any other address all
// names, unless there are further ones.
func HostsOf(at net.Addr, names []string) Hosts {
	tcp, ok := at.(*net.TCPAddr)
	return Hosts{restricted: len(names) > 0 || ok && tcp.IP.IsLoopback(), names: names}
}

// Answers tells whether a request is for this listener. One of HTTP/1.0 may have no Host, and no browser sends it.
func (h Hosts) Answers(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(host)
	if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil && ip.IsLoopback() {
		return true
	}
	return !h.restricted || host == "" || host == "localhost" || slices.Contains(h.names, host)
}
