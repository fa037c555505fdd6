//go:build unix

package main

import "syscall"

// keepPrivate makes all files that this process makes readable for its user alone, those of libraries too.
func keepPrivate() { syscall.Umask(0o077) }
