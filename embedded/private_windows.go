package main

// keepPrivate does nothing here: files inherit the permissions of their directory.
func keepPrivate() {}
