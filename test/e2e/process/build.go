package process

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles commands of this module, such as "producer", into dir, one binary each under its own name. The environment variable
// FOOTFALL_TEST_BUILD may have more flags for go build, such as -race.
func Build(ctx context.Context, dir string, commands ...string) error {
	args := []string{"build"}
	args = append(args, strings.Fields(os.Getenv("FOOTFALL_TEST_BUILD"))...)
	args = append(args, "-o", dir+string(filepath.Separator))
	for _, c := range commands {
		args = append(args, "footfall/"+c)
	}
	if printed, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", strings.Join(commands, ", "), err, printed)
	}
	return nil
}
