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

// Free returns an error if File must not write there: one of its files is there already, an fs.ErrExist, unless force says so; or
// there is something that is not a regular file (a device, a pipe, a symbolic link), force or not.
func Free(path string, force bool) error {
	for _, name := range []string{path, ManifestOf(path)} {
		switch info, err := os.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is there and is not a regular file (%v): take another name", name, info.Mode())
		case !force:
			return fmt.Errorf("%s is there already: %w", name, fs.ErrExist)
		}
	}
	return nil
}

// ErrChanged is what an error of File is where the files are not as they were before. Without it nothing was written.
var ErrChanged = errors.New("not all was written")

// File writes the rows to a file and the manifest beside it. Both appear when they are complete and on the disk, or not at all. What is
// there is an error, as Free has it, or replaced if force says so. They can be read by the user alone. If the disk fails at the very end the
// error is an ErrChanged, and says what there is.
func (e *Export) File(ctx context.Context, path string, force bool) (m Manifest, err error) {
	if err := Free(path, force); err != nil {
		return Manifest{}, err
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
	if err := Free(path, force); err != nil { // another one was faster
		return Manifest{}, err
	}
	if err := place(path, counts.file.Name(), manifest.file.Name()); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// rename is another one in a test.
var rename = os.Rename

// place gives both files their names. A manifest must never be beside rows that are not its own: one that is there goes first.
func place(path, counts, manifest string) error {
	removed := os.Remove(ManifestOf(path))
	if removed != nil && !errors.Is(removed, fs.ErrNotExist) {
		return removed
	}
	if err := rename(counts, path); err != nil {
		if removed == nil {
			return fmt.Errorf("%w: the manifest of the rows that were there is removed, and %s is as it was: %w", ErrChanged, path, err)
		}
		return err
	}
	if err := rename(manifest, ManifestOf(path)); err != nil {
		return fmt.Errorf("%w: %s is, and its manifest is not: remove it, and export again: %w", ErrChanged, path, err)
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%w to the disk, perhaps: the files are there: %w", ErrChanged, err)
	}
	return nil
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
