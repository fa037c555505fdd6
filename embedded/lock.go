package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// lock creates dir if need be and locks it for this process. The system releases the lock when the process ends, however it ends; the
// file stays and means nothing without the lock.
func lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("creating data.dir: %w", err)
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("locking data.dir: %w", err)
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w: another footfall uses this data.dir: stop it, or set FOOTFALL_DATA_DIR to another one", path, err)
	}
	return f.Close, nil
}
