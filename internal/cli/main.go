// Package cli makes all our programs behave alike on a command line: signals, exit codes, commands and their flags, --help and --version.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"footfall/configs"
)

// ErrLogged marks a failure that the program has logged already: Main prints nothing more.
var ErrLogged = errors.New("see the log")

type usageError string

func (u usageError) Error() string { return "see " + string(u) + " --help" }

// Usage returns an error that marks a mistake in a program's command line. Wrap it together with the error that says what is wrong.
func Usage(program string) error { return usageError(program) }

// Main runs a program and returns its exit code: 0 done, 1 failed, 2 a mistake in the command line (Usage) or in the configuration
// (configs.Wrong). An error is one line on stderr. The context ends with the first SIGTERM, SIGINT or SIGHUP; a second one ends the process. SIGHUP
// that is ignored at the start, as nohup has it, stays ignored.
func Main(program string, run func(ctx context.Context, args []string, stdout, stderr io.Writer) error) int {
	ending := []os.Signal{syscall.SIGTERM, os.Interrupt}
	if !signal.Ignored(syscall.SIGHUP) {
		ending = append(ending, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ending...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, ErrLogged) {
		fmt.Fprintln(os.Stderr, program+":", err)
	}
	return exitCode(err)
}

// Logged logs why a program ends and returns ErrLogged. No error and a wrong configuration it returns as they are: Main tells of that.
func Logged(log *slog.Logger, program string, err error) error {
	if wrong := (*configs.Wrong)(nil); err == nil || errors.As(err, &wrong) {
		return err
	}
	log.Error("the "+program+" ends", "error", err.Error())
	return ErrLogged
}

func exitCode(err error) int {
	var (
		usage usageError
		wrong *configs.Wrong
	)
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage), errors.As(err, &wrong):
		return 2
	}
	return 1
}
