package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// CopySources copies what git knows below root, as it is in the working tree and with files that are new, into a directory.
func CopySources(ctx context.Context, root, to string) error {
	names, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate").Output()
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		from, copied := filepath.Join(root, name), filepath.Join(to, name)
		info, err := os.Stat(from)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it is about to be removed
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(copied), 0o755)
		}
		if err == nil {
			err = os.WriteFile(copied, text, info.Mode())
		}
		if err != nil {
			return err
		}
	}
	return nil
}
