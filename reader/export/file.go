package export

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ManifestOf is the path of the manifest beside a file.
func ManifestOf(path string) string { return path + ".manifest.json" }

// Free returns an error, an fs.ErrExist, if one of the files that File would write is there.
func Free(path string) error {
	for _, name := range []string{path, ManifestOf(path)} {
		switch _, err := os.Lstat(name); {
		case err == nil:
			return fmt.Errorf("%s is there already: %w", name, fs.ErrExist)
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	return nil
}

// File writes the rows to a file and the manifest beside it. Both appear when they are complete and on the disk, or not at all. Files that
// are there are an fs.ErrExist, or replaced if force says so. They can be read by the user alone.
func (e *Export) File(ctx context.Context, path string, force bool) (m Manifest, err error) {
	if !force {
		if err := Free(path); err != nil {
			return Manifest{}, err
		}
	}
	var counts, manifest partial
	defer counts.drop()
	defer manifest.drop()
	if err := counts.create(path); err != nil {
		return Manifest{}, err
	}
	if m, err = e.Write(ctx, counts.file); err != nil {
		return Manifest{}, err
	}
	if err := manifest.create(ManifestOf(path)); err != nil {
		return Manifest{}, err
	}
	if _, err := manifest.file.Write(m.JSON()); err != nil {
		return Manifest{}, err
	}
	if err := errors.Join(counts.finish(), manifest.finish()); err != nil {
		return Manifest{}, err
	}
	if force { // a manifest must never be beside rows that are not its own
		if err := os.Remove(ManifestOf(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Manifest{}, err
		}
	} else if err := Free(path); err != nil { // another one was faster
		return Manifest{}, err
	}
	if err := os.Rename(counts.file.Name(), path); err != nil {
		return Manifest{}, err
	}
	if err := os.Rename(manifest.file.Name(), ManifestOf(path)); err != nil {
		return Manifest{}, err
	}
	return m, syncFolder(filepath.Dir(path))
}

// partial is a file that is not complete yet, under another name beside its own.
type partial struct{ file *os.File }

func (p *partial) create(path string) (err error) {
	p.file, err = os.CreateTemp(filepath.Dir(path), ".footfall-*.part")
	return err
}

// finish puts it onto the disk.
func (p *partial) finish() error { return errors.Join(p.file.Sync(), p.file.Close()) }

// drop removes it, unless it has its name by now.
func (p *partial) drop() {
	if p.file == nil {
		return
	}
	_ = p.file.Close()           // it may be closed
	_ = os.Remove(p.file.Name()) // it may be renamed
}

// syncFolder puts new names onto the disk. Some systems cannot, and need not.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = folder.Sync()
	return folder.Close()
}
