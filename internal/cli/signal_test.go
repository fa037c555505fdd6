package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"footfall/test/harness"
)

func TestMain(m *testing.M) {
	harness.Main(m, map[string]func(){"waits": func() {
		os.Exit(Main("waits", func(ctx context.Context, _ []string, stdout, _ io.Writer) error {
			fmt.Fprintln(stdout, "waits")
			<-ctx.Done()
			return nil
		}))
	}})
}

// A closed terminal ends a program as SIGTERM does.
func TestSignalsEndAProgramInOrder(t *testing.T) {
	wants := []os.Signal{syscall.SIGTERM, os.Interrupt}
	if !signal.Ignored(syscall.SIGHUP) { // else this test runs under nohup
		wants = append(wants, syscall.SIGHUP)
	}
	for _, s := range wants {
		cmd := harness.Self(t, "waits", nil)
		harness.Launch(t, cmd)
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("after %v: %v, want exit code 0", s, err)
		}
	}
}
