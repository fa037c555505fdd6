package subject

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSettingsOfThisVersion: it knows all that a bench sets.
func TestSettingsOfThisVersion(t *testing.T) {
	known, err := ReadSettings("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, env := range [][]string{Place{LRU: 1}.consumerEnv("g"), Place{}.producerEnv()} {
		if got := known.of(slices.Clone(env)); !slices.Equal(got, env) {
			t.Errorf("got %q, want %q", got, env)
		}
	}
	if !known[admin] {
		t.Errorf("does not know %s", admin)
	}
}

func TestOlderVersionsGetWhatTheyKnow(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "configs"), 0o750); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSettings(dir); err == nil {
		t.Error("no error without settings")
	}
	text := "http:\n  # Where: here.\n  tls:\n    cert: x\n  addr: y\naccess:\n  open: false\n"
	if err := os.WriteFile(filepath.Join(dir, "configs", "producer.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	known, err := ReadSettings(dir)
	if err != nil {
		t.Fatal(err)
	}
	got := known.of([]string{"FOOTFALL_HTTP_ADDR=1", "FOOTFALL_HTTP_TLS_CERT=2", "FOOTFALL_LIMITS_X=3", "FOOTFALL_ACCESS_OPEN=4", "FOOTFALL_HTTP_TLS_ADDR=5"})
	if want := []string{"FOOTFALL_HTTP_ADDR=1", "FOOTFALL_HTTP_TLS_CERT=2", "FOOTFALL_ACCESS_OPEN=4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if known[admin] {
		t.Errorf("knows %s", admin)
	}
}
