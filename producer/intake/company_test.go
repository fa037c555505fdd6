package intake

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"footfall/configs"
	"footfall/producer/admission"
)

// aloneAfter is how long admission takes to call a tenant the only one.
const aloneAfter = time.Second

// TestALoneTenantHasAll: where nobody else is, places that one tenant leaves to others are of no use to anybody.
func TestALoneTenantHasAll(t *testing.T) {
	c, now := admission.NewSoleTenant(), time.Unix(1_000_000, 0)
	p := newPlaces(4, 2, 10, 10, time.Minute)
	p.alone = func(of admission.Tenant) bool { return c.Is(of, now) }
	one, other := admission.Tenant{Grant: "one"}, admission.Tenant{Grant: "other"}
	had := func() (n int) {
		for p.free(one) {
			p.grant(one)
			n++
		}
		return n
	}
	leave := func(n int) {
		for range n {
			p.give(one)
		}
	}
	f := func(what string, want int) {
		t.Helper()
		n := had()
		if n != want {
			t.Errorf("%s: %d of 4 places, want %d", what, n, want)
		}
		leave(n)
	}
	c.Note(one, now)
	f("just come", 2)
	now = now.Add(aloneAfter)
	c.Note(one, now)
	f("alone", 4)
	c.Note(other, now)
	f("beside another", 2)
	c.Note(one, now)
	now = now.Add(aloneAfter - 1)
	c.Note(one, now)
	f("shortly after another", 2)
	now = now.Add(1)
	f("alone again", 4)
}

// TestWaitersOfALoneTenant: those who wait for a place when the others are gone have all that is free, not one for each that is
// given back.
func TestWaitersOfALoneTenant(t *testing.T) {
	p := newPlaces(4, 2, 10, 10, time.Minute)
	alone := false
	p.alone = func(admission.Tenant) bool { return alone }
	one := admission.Tenant{Grant: "one"}
	for range 2 {
		if !p.take(t.Context(), one) {
			t.Fatal("no place where there is one")
		}
	}
	got := make(chan bool, 5)
	for range 5 {
		go func() { got <- p.take(t.Context(), one) }()
	}
	for p.waits() < 5 {
		time.Sleep(time.Millisecond)
	}
	p.mu.Lock()
	alone = true
	p.mu.Unlock()
	p.give(one)
	for range 3 {
		if !<-got {
			t.Error("one who waited got no place")
		}
	}
	if p.inUse() != 4 || p.waits() != 2 {
		t.Errorf("%d of 4 places are taken, and %d wait", p.inUse(), p.waits())
	}
	p.give(one)
	p.give(one)
	<-got
	<-got
}

// TestWhoIsCompany: whoever is let in is, with a single event, a batch or a redirect alike; whoever has no key is not.
func TestWhoIsCompany(t *testing.T) {
	f := func(what string, want bool, request func(d *door, r *http.Request)) {
		t.Helper()
		d := closedDoor(t)
		d.limits = newLimits(configs.Limits{})
		d.access = &access{grants: []grant{{name: "one", site: "*", hashes: [][sha256.Size]byte{sha256.Sum256([]byte("good"))}}}}
		one := admission.Tenant{Grant: "another"}
		d.company.Note(one, time.Now().Add(-aloneAfter))
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", http.NoBody)
		request(d, r)
		if got := !d.company.Is(one, time.Now()); got != want {
			t.Errorf("%s: company %v, want %v", what, got, want)
		}
	}
	f("with a key", true, func(d *door, r *http.Request) {
		r.Header.Set("Authorization", "Bearer good")
		_, _ = d.admit(r)
	})
	f("without a key", false, func(d *door, r *http.Request) { _, _ = d.admit(r) })
	f("who follows a link", true, func(d *door, r *http.Request) { _ = d.admitFollower(r) })
}
