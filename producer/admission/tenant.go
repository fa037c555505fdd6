package admission

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"
)

// Tenant is who competes with others for connections, memory, processors and Kafka: a client's network and, if it has a write
// key, the key's grant.
type Tenant struct {
	Grant   string // empty where access.open lets anyone write
	Network netip.Prefix
}

// Account is the tenant that a fair share is counted for. All holders of one key have one account, wherever they are. Without
// a key each network has its own, except that all /64 of an IPv6 /48 have one: a single customer is often given a whole /48.
func (t Tenant) Account() Tenant {
	switch ip := t.Network.Addr(); {
	case t.Grant != "":
		return Tenant{Grant: t.Grant}
	case ip.Is6():
		wide, _ := ip.Prefix(48) // no error: an IPv6 address has 128 bits
		return Tenant{Network: wide}
	}
	return t
}

// NetworkOf is the network that counts as one client: an IPv4 address, or the /64 of an IPv6 address. It is the zero Prefix
// for no address, as on a Unix socket: all of those are one client.
func NetworkOf(ip netip.Addr) netip.Prefix {
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	network, _ := ip.Prefix(bits)
	return network
}

// soleAfter is how long no other account may have sent anything before a tenant counts as the only one.
const soleAfter = time.Second

// SoleTenant knows whether only one tenant is sending. As long as that is so, its requests write nothing to shared memory.
// It is safe for concurrent use.
type SoleTenant struct {
	seed    maphash.Seed
	last    atomic.Uint64 // hash of the account of the latest request
	changed atomic.Int64  // when the account last changed from one request to the next, in Unix nanoseconds
}

// NewSoleTenant knows of no request yet.
func NewSoleTenant() *SoleTenant { return &SoleTenant{seed: maphash.MakeSeed()} }

// Note records a request of a tenant.
func (s *SoleTenant) Note(of Tenant, now time.Time) {
	if hash := s.hash(of); s.last.Load() != hash {
		s.changed.Store(now.UnixNano()) // before last, so that Is never returns true in between
		s.last.Store(hash)
	}
}

// Is tells whether nobody but this tenant's account has sent a request for soleAfter.
func (s *SoleTenant) Is(of Tenant, now time.Time) bool {
	return s.last.Load() == s.hash(of) && now.UnixNano()-s.changed.Load() >= int64(soleAfter)
}

func (s *SoleTenant) hash(of Tenant) uint64 {
	if of.Grant != "" {
		return maphash.String(s.seed, of.Grant)
	}
	ip := of.Account().Network.Addr().As16()
	return maphash.Bytes(s.seed, ip[:])
}
