package intake

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"footfall/configs"
	"footfall/producer/admission"
)

// soleAfter is how long no other tenant may have sent before admission takes a tenant for the only one.
const soleAfter = time.Second

// TestWhoCountsAsAnotherTenant: a tenant whose event, batch or redirect was admitted counts as another; a sender without a key does not.
func TestWhoCountsAsAnotherTenant(t *testing.T) {
	f := func(what string, want bool, request func(d *server, r *http.Request)) {
		t.Helper()
		d := newTestServer(t)
		d.limits = admission.NewLimits(configs.Limits{})
		hash := sha256.Sum256([]byte("good"))
		var err error
		if d.access, err = admission.NewAccess(configs.Access{Sites: []configs.Site{{Site: "*", KeyHashes: []string{hex.EncodeToString(hash[:])}}}}); err != nil {
			t.Fatal(err)
		}
		one := admission.Tenant{Grant: "another"}
		d.sole.Note(one, time.Now().Add(-soleAfter))
		r := httptest.NewRequest(http.MethodPost, "/v1/visits", http.NoBody)
		request(d, r)
		if got := !d.sole.Is(one, time.Now()); got != want {
			t.Errorf("%s: another tenant %v, want %v", what, got, want)
		}
	}
	f("with a key", true, func(d *server, r *http.Request) {
		r.Header.Set("Authorization", "Bearer good")
		_, _ = d.admit(r)
	})
	f("without a key", false, func(d *server, r *http.Request) { _, _ = d.admit(r) })
	f("who follows a link", true, func(d *server, r *http.Request) { _ = d.admitFollower(r) })
}
