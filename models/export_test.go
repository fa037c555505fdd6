package models

// What tests outside the package use.
var (
	Agree     = agree
	SameBytes = sameBytes
)
