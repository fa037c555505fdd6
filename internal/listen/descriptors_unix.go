//go:build unix

package listen

import (
	"math"
	"syscall"
)

// descriptors is how many files the process may open. Go has raised the limit as far as it may when the process began.
func descriptors() uint64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return uint64(limit.Cur) //nolint:unconvert // some systems have a signed number
}
