package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// lock makes this process the only one on dir, which it creates if need be. The system gives the lock back when the
// process ends, however it ends; the file stays and means nothing by itself.
func lock(dir string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, privateDir); err != nil {
		return nil, fmt.Errorf("creating data.dir: %w", err)
	}
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, privateFile)
	if err != nil {
		return nil, fmt.Errorf("locking data.dir: %w", err)
	}
	if err := tryLock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w: another footfall has this data.dir: stop it, or set FOOTFALL_DATA_DIR to another one", path, err)
	}
	return f.Close, nil
}
