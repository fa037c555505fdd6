package memstore

import (
	"testing"

	"footfall/consumer/store"
)

// Who only looks records nothing.
func TestReadOnly(t *testing.T) {
	db := New()
	r := store.ReadOnly{Store: db}
	if got, err := r.Setting(t.Context(), "a", "1"); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := db.Setting(t.Context(), "a", ""); got != "" || err != nil {
		t.Errorf("it recorded %q, %v", got, err)
	}
	if _, err := db.Setting(t.Context(), "a", "2"); err != nil {
		t.Fatal(err)
	}
	if got, err := r.Setting(t.Context(), "a", "1"); got != "2" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}
