//go:build unix

package main

import "syscall"

// keepPrivate lets only its user read the files that this process makes, those of libraries included.
func keepPrivate() { syscall.Umask(0o077) }
