package export_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"footfall/models"
	"footfall/reader/export"
	"footfall/reader/export/exporttest"
	"footfall/reader/stats"
	"footfall/reader/stats/statstest"
)

func TestFileName(t *testing.T) {
	f := func(what export.What, want string) {
		t.Helper()
		what.Month = october
		if got := what.FileName(export.CSV); got != want {
			t.Errorf("%+v: %s, want %s", what, got, want)
		}
	}
	f(export.What{Site: "shop-1_A"}, "footfall-site-shop-1_A-2018-10.csv")
	f(export.What{Link: "a/b"}, "footfall-link-a%2Fb-2018-10.csv")
	f(export.What{Link: "../.."}, "footfall-link-%2E%2E%2F%2E%2E-2018-10.csv")
	f(export.What{Site: "C:\\x\n\u202e\x1b*?<>|\"'"}, "footfall-site-C%3A%5Cx%0A%E2%80%AE%1B%2A%3F%3C%3E%7C%22%27-2018-10.csv")
	f(export.What{Site: strings.Repeat("a", 120)}, "footfall-site-"+strings.Repeat("a", 120)+"-2018-10.csv")
	long, other := export.What{Site: strings.Repeat("é", 64)}.FileName(export.CSV), export.What{Site: strings.Repeat("é", 63) + "è"}.FileName(export.CSV)
	if len(long) > 160 || long == other {
		t.Errorf("%s\n%s", long, other)
	}
}

// filled is a reader of one site.
func filled() (*statstest.Memory, *stats.Reader) {
	store := statstest.NewMemory(models.DefaultPlan())
	store.Add(visit("s", "g", october, "", ""))
	return store, stats.New(store, "clicks", "visits")
}

func begin(t *testing.T, r *stats.Reader) *export.Export {
	t.Helper()
	e, err := export.Begin(t.Context(), r, export.What{Site: "s", Month: october}, export.NDJSON, func() {})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// has compares the names in a folder.
func has(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("the folder has %q, %v; want %q", got, err, want)
	}
}

func TestFile(t *testing.T) {
	store, r := filled()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	first, err := begin(t, r).File(t.Context(), path, false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if rows := exporttest.Read(t, export.NDJSON, text); err != nil || len(rows) != 6 || int64(len(text)) != first.Bytes {
		t.Errorf("%q, %v", rows, err)
	}
	manifest, err := os.ReadFile(export.ManifestOf(path))
	if err != nil || string(manifest) != string(first.JSON()) {
		t.Errorf("%s, %v", manifest, err)
	}
	has(t, dir, "x", "x.manifest.json")

	store.Add(visit("s", "h", october, "", ""))
	if _, err := begin(t, r).File(t.Context(), path, false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a file that is there: %v", err)
	}
	second, err := begin(t, r).File(t.Context(), path, true)
	if err != nil || second.SHA256 == first.SHA256 {
		t.Errorf("%+v, %v", second, err)
	}
	if manifest, err = os.ReadFile(export.ManifestOf(path)); err != nil || string(manifest) != string(second.JSON()) {
		t.Errorf("%s, %v", manifest, err)
	}
	has(t, dir, "x", "x.manifest.json")
}

// TestNothingHalfIsLeft by an export that fails or is stopped; what was there before stays.
func TestNothingHalfIsLeft(t *testing.T) {
	store, r := filled()
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	fails, stopped := begin(t, r), begin(t, r)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := stopped.File(ctx, path, true); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	down := errors.New("a node is down")
	store.Fail(down)
	if _, err := fails.File(t.Context(), path, true); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(path)
	if err != nil || string(text) != "before" {
		t.Errorf("%s, %v", text, err)
	}
	has(t, dir, "x")
}

// TestOnlyRegularFilesAreReplaced, force or not: a device or a link that is replaced by a file is a surprise to others.
func TestOnlyRegularFilesAreReplaced(t *testing.T) {
	_, r := filled()
	dir := t.TempDir()
	f := func(name string, make func(path string) error) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		for _, force := range []bool{false, true} {
			if err := export.Free(path, force); err == nil || errors.Is(err, fs.ErrExist) {
				t.Errorf("%s, force %v: %v", name, force, err)
			}
			_, err := begin(t, r).File(t.Context(), strings.TrimSuffix(path, ".manifest.json"), force)
			if after, gone := os.Lstat(path); err == nil || errors.Is(err, export.ErrChanged) || gone != nil || after.Mode() != before.Mode() {
				t.Errorf("%s, force %v: %v, and it is %v", name, force, err, after)
			}
		}
	}
	f("pipe", func(path string) error { return syscall.Mkfifo(path, 0o600) })
	f("link", func(path string) error { return os.Symlink(filepath.Join(dir, "elsewhere"), path) })
	f("folder", func(path string) error { return os.Mkdir(path, 0o700) })
	f("x.manifest.json", func(path string) error { return os.Symlink(os.DevNull, path) })
	has(t, dir, "folder", "link", "pipe", "x.manifest.json")
}
