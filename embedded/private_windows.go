package main

// keepPrivate does nothing here: files get the rights of their directory.
func keepPrivate() {}
